/** Sends a sample to receivers and tells what became of it, within a time that whoever asks can wait for. */
import type { JsonRecord } from "../../schemas/json.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { SubscriptionRow } from "../store/subscriptions.ts";
import { newUuid } from "../uuid.ts";
import { destinationOf } from "./destination.ts";
import { makeSample } from "./sample.ts";

export interface TestedSubscription {
  readonly row: SubscriptionRow;
  /** Null: it was delivered. */
  readonly fault: string | null;
}

const AT_ONCE = 8;

export async function testSubscriptions(
  delivery: Pick<Delivery, "attempt">,
  rows: readonly SubscriptionRow[],
  limitMs: number,
): Promise<readonly TestedSubscription[]> {
  const untilMs = performance.now() + limitMs;
  const late = `it was not delivered within the ${limitMs / 1000} s of this test`;
  const test = async (row: SubscriptionRow): Promise<TestedSubscription> => {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) return { row, fault: `it was not tried: ${late}` };
    const id = newUuid();
    const body = makeSample(row, id, Date.now()) as unknown as JsonRecord;
    const destination = destinationOf(row);
    const result = await withTimeout(
      leftMs,
      delivery.attempt(destination, { id, destinationUuid: destination.uuid, body }),
    );
    if (result === TIMED_OUT) return { row, fault: late };
    return { row, fault: result.delivered ? null : result.detail };
  };
  const tested: TestedSubscription[] = new Array(rows.length);
  const next = rows.entries();
  await Promise.all(
    Array.from({ length: Math.min(AT_ONCE, rows.length) }, async () => {
      for (const [at, row] of next) tested[at] = await test(row);
    }),
  );
  return tested;
}

/**
 * Puts what alerts find and what webhooks gather into one order, by the time of the pictures. Nothing reads a clock, so
 * that the same recording gives the same order, however fast and in whatever turns it comes.
 */
import type { AlertFinding } from "../../schemas/alerts.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { ReplayedSubscription, TimedNotification } from "../../server/webhooks/collectors.ts";
import type { Sending } from "./sending.ts";

/** One subscription. */
export interface Gathering {
  readonly row: number;
  readonly subscription: ReplayedSubscription;
}

export interface Noticing {
  /** Null for a finding of nobody's. */
  notice(finding: AlertFinding): Pick<Sending, "row" | "body"> | null;
}

export class VirtualTime {
  readonly #noticing: Noticing;
  readonly #gatherings: readonly Gathering[];
  /** In the order in which they came, which is that of their pictures. */
  #findings: AlertFinding[] = [];
  #lastMs = 0;

  constructor(noticing: Noticing, gatherings: readonly Gathering[]) {
    this.#noticing = noticing;
    this.#gatherings = gatherings;
  }

  /** Told of a picture before the message of that picture is: it waits for it. */
  find(finding: AlertFinding): void {
    this.#findings.push(finding);
  }

  /** What was sent up to this picture, in order. */
  see(message: DetectionMessage): readonly Sending[] {
    const nowMs = Date.parse(message.timestamp);
    this.#lastMs = nowMs;
    return inOrder([...this.#notice(nowMs), ...this.#gather((subscription) => subscription.see(message, nowMs))]);
  }

  /** Where nobody tells what is seen: what was found so far, in order. */
  flush(): readonly Sending[] {
    return this.#notice(Number.POSITIVE_INFINITY);
  }

  /** The recording is over, and with it the process. */
  end(): readonly Sending[] {
    const noticed = this.#notice(Number.POSITIVE_INFINITY);
    const lastMs = Math.max(this.#lastMs, noticed.at(-1)?.timeMs ?? 0);
    return inOrder([...noticed, ...this.#gather((subscription) => subscription.end(lastMs))]);
  }

  #notice(untilMs: number): readonly Sending[] {
    const due = this.#findings.filter(({ timeMs }) => timeMs <= untilMs);
    this.#findings = this.#findings.filter(({ timeMs }) => timeMs > untilMs);
    return due.flatMap((finding) => {
      const notice = this.#noticing.notice(finding);
      return notice === null ? [] : [{ ...notice, timeMs: finding.timeMs, event: finding.event }];
    });
  }

  #gather(ask: (subscription: ReplayedSubscription) => readonly TimedNotification[]): readonly Sending[] {
    return this.#gatherings.flatMap(({ row, subscription }) =>
      ask(subscription).map(({ timeMs, body }) => ({ timeMs, row, event: body.type, body })),
    );
  }
}

/** Of the same moment: alerts before webhooks, each in the order in which they were told. */
const inOrder = (sendings: readonly Sending[]): readonly Sending[] =>
  sendings.length < 2 ? sendings : sendings.toSorted((a, b) => a.timeMs - b.timeMs);

/** One replay: what is found and seen goes in, what would have been sent comes out, and is counted. */
import type { AlertFinding } from "../../schemas/alerts.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { ReplayedSubscription } from "../../server/webhooks/collectors.ts";
import type { Mark } from "./draw-timeline.ts";
import { Notices } from "./noticing.ts";
import type { Outlet } from "./outlet.ts";
import type { PatchFolder } from "./patches.ts";
import type { ReplayedAlert } from "./read-alerts.ts";
import type { ReplayedSubscriber } from "./read-subscriptions.ts";
import type { Sender, Sending } from "./sending.ts";
import { Tally } from "./tally.ts";
import { VirtualTime } from "./virtual-time.ts";

export interface ReplayOrder {
  readonly alerts: readonly ReplayedAlert[];
  readonly subscribers: readonly ReplayedSubscriber[];
  readonly patches: PatchFolder | null;
  /** Remembers every sending, for a picture of them. */
  readonly keepsMarks: boolean;
}

export const listSenders = ({
  alerts,
  subscribers,
}: Pick<ReplayOrder, "alerts" | "subscribers">): readonly Sender[] => [
  ...alerts.map(({ alias, type, to }): Sender => ({ kind: "alert", name: alias, type, to })),
  ...subscribers.map(
    ({ url, rule }): Sender => ({ kind: "webhook", name: rule.eventType, type: null, to: [{ type: "webhook", url }] }),
  ),
];

export class Replay {
  readonly tally: Tally;
  readonly marks: Mark[] = [];
  readonly #time: VirtualTime;
  readonly #outlet: Outlet;
  readonly #keepsMarks: boolean;
  #startMs: number | null;
  #lastMs: number | null = null;
  /** Sendings are shown one after the other, whoever brings them. */
  #turn: Promise<void> = Promise.resolve();

  /** @param startMs of the first picture; null: that of the first message */
  constructor({ alerts, subscribers, patches, keepsMarks }: ReplayOrder, outlet: Outlet, startMs: number | null) {
    this.tally = new Tally(alerts.length + subscribers.length);
    this.#outlet = outlet;
    this.#keepsMarks = keepsMarks;
    this.#startMs = startMs;
    this.#time = new VirtualTime(
      new Notices(alerts, patches),
      subscribers.map(({ rule }, index) => ({
        row: alerts.length + index,
        subscription: new ReplayedSubscription(rule),
      })),
    );
  }

  get startMs(): number {
    return this.#startMs ?? 0;
  }

  /** From the first picture to the last that was told of. */
  get seconds(): number {
    return this.#lastMs === null ? 0 : (this.#lastMs - this.startMs) / 1000;
  }

  find(finding: AlertFinding): void {
    this.#time.find(finding);
  }

  /** Resolves when more may come. */
  see(message: DetectionMessage): Promise<void> {
    this.#lastMs = Date.parse(message.timestamp);
    this.#startMs ??= this.#lastMs;
    this.tally.see(message);
    return this.#send(this.#time.see(message));
  }

  /** Where no messages come: what was found so far goes out. */
  flush(): Promise<void> {
    return this.#send(this.#time.flush());
  }

  end(): Promise<void> {
    return this.#send(this.#time.end());
  }

  #send(sendings: readonly Sending[]): Promise<void> {
    for (const sending of sendings) {
      this.tally.count(sending);
      if (this.#keepsMarks) this.marks.push({ timeMs: sending.timeMs, row: sending.row, event: sending.event });
    }
    if (sendings.length > 0) this.#turn = this.#turn.then(() => this.#outlet.show(sendings, this.startMs));
    return this.#turn;
  }
}

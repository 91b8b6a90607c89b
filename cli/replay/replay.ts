/** One replay: findings and messages in, notifications out, ordered by stream time and counted. */
import type { AlertEvent } from "../../schemas/alerts.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { describeEvent } from "../../server/alerts/alerts.ts";
import { uuidOf } from "../../server/uuid.ts";
import { ReplayedSubscription, type TimedNotification } from "../../server/webhooks/collectors.ts";
import type { Mark } from "./draw-timeline.ts";
import type { Outlet, PatchFolder } from "./outlet.ts";
import type { ReplayedAlert, ReplayedSubscriber } from "./read-alerts.ts";
import { NO_UUID, type Sender, type Sending } from "./sending.ts";
import { Tally } from "./summary.ts";

export interface ReplayOptions {
  readonly alerts: readonly ReplayedAlert[];
  readonly subscribers: readonly ReplayedSubscriber[];
  readonly patches: PatchFolder | null;
  /** Keeps every notification, for the timeline. */
  readonly keepsMarks: boolean;
}

export const listSenders = ({
  alerts,
  subscribers,
}: Pick<ReplayOptions, "alerts" | "subscribers">): readonly Sender[] => [
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
  /** Serialises the output. */
  #output: Promise<void> = Promise.resolve();

  /** @param startMs time of the first frame; null: that of the first message */
  constructor({ alerts, subscribers, patches, keepsMarks }: ReplayOptions, outlet: Outlet, startMs: number | null) {
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

  /** From the first frame to the last message. */
  get seconds(): number {
    return this.#lastMs === null ? 0 : (this.#lastMs - this.startMs) / 1000;
  }

  find(finding: AlertEvent): void {
    this.#time.find(finding);
  }

  /** Resolves when the next message may follow. */
  see(message: DetectionMessage): Promise<void> {
    this.#lastMs = Date.parse(message.timestamp);
    this.#startMs ??= this.#lastMs;
    this.tally.see(message);
    return this.#send(this.#time.see(message));
  }

  /** Sends the findings so far; for graphs without messages. */
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
    if (sendings.length > 0) this.#output = this.#output.then(() => this.#outlet.show(sendings, this.startMs));
    return this.#output;
  }
}

/** Turns findings into the notifications that the service would create. */
export class Notices implements Noticing {
  readonly #alerts: readonly ReplayedAlert[];
  readonly #patches: PatchFolder | null;
  readonly #rows: ReadonlyMap<string, number>;
  readonly #counts: number[];

  /** Row numbers are those of the alerts. */
  constructor(alerts: readonly ReplayedAlert[], patches: PatchFolder | null) {
    this.#alerts = alerts;
    this.#patches = patches;
    this.#rows = new Map(alerts.map(({ uuid }, row) => [uuid, row]));
    this.#counts = alerts.map(() => 0);
  }

  /** Null for a rule of the graph itself. */
  notice(finding: AlertEvent): { readonly row: number; readonly body: JsonRecord } | null {
    const row = this.#rows.get(finding.alert);
    const alert = row === undefined ? undefined : this.#alerts[row];
    if (row === undefined || alert === undefined) return null;
    const count = (this.#counts[row] ?? 0) + 1;
    this.#counts[row] = count;
    const id = uuidOf("notice", alert.uuid, String(count));
    const origin = { id, alias: alert.alias, processUuid: NO_UUID, sourceUuid: NO_UUID };
    const body = describeEvent(finding, origin) as unknown as JsonRecord;
    return { row, body: this.#patches?.save(body, alert.alias) ?? body };
  }
}

/**
 * Orders the notifications of alerts and webhooks by stream time. Nothing reads a clock, so that the same recording
 * always gives the same order.
 */
export interface Gathering {
  readonly row: number;
  readonly subscription: ReplayedSubscription;
}

export interface Noticing {
  /** Null for a finding of an unknown rule. */
  notice(finding: AlertEvent): Pick<Sending, "row" | "body"> | null;
}

export class VirtualTime {
  readonly #noticing: Noticing;
  readonly #gatherings: readonly Gathering[];
  /** In stream order. */
  #findings: AlertEvent[] = [];
  #lastMs = 0;

  constructor(noticing: Noticing, gatherings: readonly Gathering[]) {
    this.#noticing = noticing;
    this.#gatherings = gatherings;
  }

  /** A finding precedes the message of its frame, and is sent with it. */
  find(finding: AlertEvent): void {
    this.#findings.push(finding);
  }

  /** The notifications up to this frame, in order. */
  see(message: DetectionMessage): readonly Sending[] {
    const nowMs = Date.parse(message.timestamp);
    this.#lastMs = nowMs;
    return inOrder([...this.#notice(nowMs), ...this.#gather((subscription) => subscription.see(message, nowMs))]);
  }

  /** The notifications of all findings so far. */
  flush(): readonly Sending[] {
    return this.#notice(Number.POSITIVE_INFINITY);
  }

  /** The end of the recording also ends the process. */
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

/** At the same time: alerts before webhooks, each in the order of arrival. */
const inOrder = (sendings: readonly Sending[]): readonly Sending[] =>
  sendings.length < 2 ? sendings : sendings.toSorted((a, b) => a.timeMs - b.timeMs);

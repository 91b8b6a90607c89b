/** One replay: what is found and seen goes in, what would have been sent comes out, and is counted. */
import type { AlertFinding } from "../../schemas/alerts.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { draftNotice, nameNotice } from "../../server/alerts/draft-notice.ts";
import { ReplayedSubscription, type TimedNotification } from "../../server/webhooks/gather/replayed-subscription.ts";
import type { Mark } from "./draw-timeline.ts";
import type { Outlet, PatchFolder } from "./outlet.ts";
import type { ReplayedAlert, ReplayedSubscriber } from "./read-alerts.ts";
import { NO_UUID, type Sender, type Sending, uuidOf } from "./sending.ts";
import { Tally } from "./summary.ts";

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

// What alerts find, as the notices that the service would make of it.
export class Notices implements Noticing {
  readonly #alerts: readonly ReplayedAlert[];
  readonly #patches: PatchFolder | null;
  readonly #rows: ReadonlyMap<string, number>;
  readonly #counts: number[];

  /** Rows are in the order of the alerts. */
  constructor(alerts: readonly ReplayedAlert[], patches: PatchFolder | null) {
    this.#alerts = alerts;
    this.#patches = patches;
    this.#rows = new Map(alerts.map(({ uuid }, row) => [uuid, row]));
    this.#counts = alerts.map(() => 0);
  }

  /** Findings of others are of rules that the graph itself has. */
  notice(finding: AlertFinding): { readonly row: number; readonly body: JsonRecord } | null {
    const row = this.#rows.get(finding.alert);
    const alert = row === undefined ? undefined : this.#alerts[row];
    if (row === undefined || alert === undefined) return null;
    const count = (this.#counts[row] ?? 0) + 1;
    this.#counts[row] = count;
    const id = uuidOf("notice", alert.uuid, String(count));
    const draft = draftNotice(finding, { id, processUuid: NO_UUID, sourceUuid: NO_UUID });
    const body = nameNotice(draft, alert.alias) as unknown as JsonRecord;
    return { row, body: this.#patches?.keep(body, alert.alias) ?? body };
  }
}

// Puts what alerts find and what webhooks gather into one order, by the time of the pictures. Nothing reads a clock, so that the same recording gives the same order, however fast and in whatever turns it comes.
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

/**
 * Evidence of alerts: cuts the clip of a notice when its last frame is recorded, stores it apart from recordings, and
 * notifies again. Its jobs are rows of the database, which the node with the files claims: they survive the end of any process.
 */
import type { Logger } from "pino";
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { MissingEvidence } from "../../schemas/api/evidence.ts";
import type { Config } from "../../schemas/config.ts";
import type { EvidenceFields } from "../alerts/alert-evidence.ts";
import { writeBody } from "../alerts/outgoing.ts";
import { Poller, sweepEvery } from "../async/poller.ts";
import type { Outbox } from "../delivery/outbox.ts";
import type { SharedFiles } from "../files/open-files.ts";
import { type RecordedClip, readClip, type TimeRange } from "../media/recordings/clip-file.ts";
import { ServiceError } from "../service-error.ts";
import { listOutputs } from "../store/alerts.ts";
import type { Sql } from "../store/client.ts";
import {
  adoptEvidence,
  claimEvidence,
  type EvidenceEnd,
  type EvidenceJob,
  type EvidenceRow,
  endEvidence,
  findKept,
  postponeEvidence,
  removeOrphans,
  renewEvidence,
} from "../store/evidence.ts";
import { NODE_LEASE } from "../store/nodes.ts";
import { findNotice } from "../store/notices.ts";
import { newUuid } from "../uuid.ts";
import { EvidenceFolder, NoSpace } from "./evidence-folder.ts";

export interface EvidenceDeps {
  readonly sql: Sql;
  readonly config: Pick<Config, "data_dir" | "evidence" | "disk" | "database">;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** Null: clips stay in the data folder. */
  readonly files: SharedFiles | null;
  readonly delivery: Pick<Outbox, "enqueue" | "wake">;
  /** What is there of this range. Rejects with `ElsewhereError`. */
  readonly cut: CutClip;
  /** Encodes a clip, with the boxes of the process if its alert wants them. Null: not available. */
  readonly render: RenderEvidence | null;
  /** Notifies the clients of a process, which may run on another node. */
  notify(processUuid: string, notice: AlertNotice): void;
  describe(uuid: string, row: EvidenceRow): EvidenceFields;
  /** For tests. */
  readonly limits?: Partial<typeof LIMITS>;
}

/** Unix time; null: there is no video of this range. */
export type CutClip = (
  job: EvidenceJob,
  range: TimeRange,
) => Promise<RecordedClip | NeedsEncoding | ElsewhereNode | NoVideo | null>;
/** The file replaces one that is there. Resolves with its size. */
export type RenderEvidence = (path: string, job: EvidenceJob, range: TimeRange, signal: AbortSignal) => Promise<number>;

/** Another node has the files. */
export class ElsewhereNode {
  readonly nodeUuid: string;

  constructor(nodeUuid: string) {
    this.nodeUuid = nodeUuid;
  }
}

/** A file that cannot be cut without encoding has this part of the range. */
export class NeedsEncoding {
  readonly range: TimeRange;

  constructor(range: TimeRange) {
    this.range = range;
  }
}

/** The source can never give this clip. */
export class NoVideo {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

export const LIMITS = {
  /** Interval for starting jobs, and while there are none: this node is woken for those of its own processes. */
  everyMs: 500,
  idleMs: NODE_LEASE.idleMs,
  /** After the last job: one that waits for its video is due again. */
  activeMs: 60_000,
  /** Video that is not there this long after the end of the range, or after the start of the server, is missing. */
  patienceMs: 15_000,
  /** Interval for trying a clip that is not complete. */
  retryMs: 1_000,
  /** After an error that may pass, such as a full disk. */
  faultRetryMs: 10_000,
  /** A job with errors fails after this time. */
  giveUpMs: 900_000,
  /** Interval for removing clips of deleted notices. */
  sweepMs: 30_000,
};
/** Of an encoded clip. */
const BYTES_PER_SECOND = 1_000_000;
/** Per sweep. */
const MAX_REMOVED = 500;

export class Evidence {
  readonly folder: EvidenceFolder;
  readonly #deps: EvidenceDeps;
  readonly #limits: Readonly<typeof LIMITS>;
  readonly #startedMs = Date.now();
  readonly #running = new Map<string, Promise<void>>();
  readonly #claiming: Poller;
  /** When a job was last started or announced. */
  #activeMs = Number.NEGATIVE_INFINITY;
  readonly #sweeping: Poller;
  readonly #closing = new AbortController();

  private constructor(deps: EvidenceDeps, folder: EvidenceFolder) {
    const { log } = deps;
    this.#deps = deps;
    this.folder = folder;
    this.#limits = { ...LIMITS, ...deps.limits };
    this.#claiming = new Poller(async () => {
      await this.#claim().catch((error: unknown) => log.warn({ err: error }, "evidence not claimed; retrying"));
      const { everyMs, idleMs, activeMs } = this.#limits;
      return performance.now() - this.#activeMs < activeMs ? everyMs : idleMs;
    });
    this.#claiming.start(0);
    this.#sweeping = sweepEvery(
      this.#limits.sweepMs,
      () => this.sweep(),
      (error) => log.warn({ err: error }, "evidence of deleted notices not removed; retrying"),
    );
  }

  static async open(deps: EvidenceDeps): Promise<Evidence> {
    const { sql, config, nodeUuid } = deps;
    const folder = new EvidenceFolder(config.data_dir, config.disk.reserve_bytes);
    const names = await folder.open();
    await adoptEvidence(sql, nodeUuid, names);
    const kept = await findKept(sql, names);
    // An external database may just be the wrong one.
    if (config.database.url === null) for (const name of names) if (!kept.has(name)) await folder.remove(name);
    return new Evidence(deps, folder);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#claiming.close(), this.#sweeping.close()]);
    await Promise.all(this.#running.values());
  }

  /** There may be a new job. */
  wake(): void {
    this.#activeMs = performance.now();
    this.#claiming.wake();
  }

  /** Removes the clips of deleted notices. */
  async sweep(): Promise<void> {
    const { sql, nodeUuid } = this.#deps;
    for (;;) {
      const removed = await removeOrphans(sql, nodeUuid, MAX_REMOVED);
      for (const notice of removed) await this.folder.remove(notice);
      if (removed.length < MAX_REMOVED) return;
    }
  }

  async #claim(): Promise<void> {
    const { sql, nodeUuid, config } = this.#deps;
    const most = config.evidence.at_once - this.#running.size;
    if (most <= 0 || this.#closing.signal.aborted) return;
    const jobs = await claimEvidence(sql, nodeUuid, { leaseSeconds: NODE_LEASE.leaseSeconds, most });
    if (jobs.length + this.#running.size > 0) this.#activeMs = performance.now();
    for (const job of jobs) {
      const done = this.#attempt(job).finally(() => this.#running.delete(job.noticeUuid));
      this.#running.set(job.noticeUuid, done);
    }
  }

  /** Never rejects. */
  async #attempt(job: EvidenceJob): Promise<void> {
    const { sql, log } = this.#deps;
    const { leaseSeconds, renewMs } = NODE_LEASE;
    const renewing = setInterval(() => void renewEvidence(sql, job, leaseSeconds).catch(() => {}), renewMs);
    try {
      await this.#run(job);
    } catch (error) {
      log.warn({ err: error, notice: job.noticeUuid }, "evidence failed; retrying");
      const isOver = Date.now() - job.createdAt.getTime() > this.#limits.giveUpMs;
      const reason = error instanceof NoSpace ? error.message : "the clip could not be stored";
      const ending = isOver
        ? this.#end(job, { clip: null, missing: [...job.missing, { part: "clip", reason }] })
        : postponeEvidence(sql, job, new Date(Date.now() + this.#limits.faultRetryMs));
      // The lease ends by itself.
      await ending.catch((failure: unknown) => log.warn({ err: failure }, "evidence not written"));
    } finally {
      clearInterval(renewing);
    }
  }

  async #run(job: EvidenceJob): Promise<void> {
    const { sql, cut } = this.#deps;
    const atMs = job.happenedAt.getTime();
    const range = { fromMs: atMs - job.beforeMs, toMs: atMs + job.afterMs };
    const found = await cut(job, range);
    if (found instanceof ElsewhereNode) return postponeEvidence(sql, job, new Date(), found.nodeUuid);
    if (found instanceof NoVideo) {
      const { reason } = found;
      return this.#end(job, { clip: null, missing: [...job.missing, { part: "clip", reason }] });
    }
    if (found instanceof NeedsEncoding) return this.#encode(job, found.range);
    if (this.#mayGrow(job, range, found))
      return postponeEvidence(sql, job, new Date(Date.now() + this.#limits.retryMs));
    const missing: MissingEvidence[] = [...job.missing, ...listGaps(range, found)];
    if (found === null) return this.#end(job, { clip: null, missing });
    const path = await this.folder.write(
      job.noticeUuid,
      readClip(found, { first: 0, last: found.bytes - 1 }),
      found.bytes,
    );
    let { bytes } = found;
    if (job.hasBoxes) {
      const rendered = await this.#render(path, job, found);
      if (typeof rendered === "number") bytes = rendered;
      else missing.push({ part: "boxes", reason: rendered });
    }
    await this.#store(job, path);
    const clip = { fromMs: found.fromMs, toMs: found.toMs, bytes };
    await this.#end(job, { clip, missing });
  }

  /** The whole clip, with or without boxes. */
  async #encode(job: EvidenceJob, range: TimeRange): Promise<void> {
    const path = await this.folder.reserve(job.noticeUuid, ((range.toMs - range.fromMs) / 1000) * BYTES_PER_SECOND);
    const bytes = await this.#render(path, job, range);
    if (typeof bytes === "string")
      return this.#end(job, { clip: null, missing: [...job.missing, { part: "clip", reason: bytes }] });
    await this.#store(job, path);
    await this.#end(job, { clip: { ...range, bytes }, missing: job.missing });
  }

  /** The end of the range may still be written. */
  #mayGrow({ positionMs }: EvidenceJob, { toMs }: TimeRange, found: RecordedClip | null): boolean {
    const isComplete = positionMs !== null || (found !== null && !found.gaps.some((gap) => gap.toMs >= toMs));
    return !isComplete && Date.now() < Math.max(toMs, this.#startedMs) + this.#limits.patienceMs;
  }

  /** The size of the encoded clip, or why there is none. */
  async #render(path: string, job: EvidenceJob, range: TimeRange): Promise<number | string> {
    const { render, log } = this.#deps;
    const what = job.hasBoxes ? "the boxes could not be drawn" : "the clip could not be encoded";
    if (render === null) return `${what}: this server does not encode clips`;
    try {
      return await render(path, job, range, this.#closing.signal);
    } catch (error) {
      // The next server tries again.
      this.#closing.signal.throwIfAborted();
      log.warn({ err: error, notice: job.noticeUuid }, "clip not encoded");
      return error instanceof ServiceError ? `${what}: ${error.message}` : what;
    }
  }

  /** Moves it to the bucket, if there is one. */
  async #store({ noticeUuid, userUuid }: EvidenceJob, path: string): Promise<void> {
    const { files, nodeUuid } = this.#deps;
    if (files === null) return;
    const key = `evidence/${noticeUuid}/clip.mp4`;
    await files.putKnown(
      { key, kind: "evidence", ownerUuid: noticeUuid, index: 0, userUuid, nodeUuid },
      path,
      new Date(),
    );
    await this.folder.remove(noticeUuid);
  }

  async #end(job: EvidenceJob, { clip, missing }: Omit<EvidenceEnd, "state">): Promise<void> {
    const { sql, delivery, describe, log } = this.#deps;
    const { noticeUuid: uuid, destinations, processUuid } = job;
    const hasPart = clip !== null || (job.hasSnapshot && !missing.some(({ part }) => part === "snapshot"));
    const state = missing.length === 0 ? "ready" : hasPart ? "partial" : "failed";
    const notice = await sql.begin(async (transaction) => {
      if (!(await endEvidence(transaction, job, { state, clip, missing }))) return null;
      const { body, evidence } = await findNotice(transaction, job.userUuid, uuid);
      const ready: AlertNotice = { ...body, event: "evidence-ready", ...(evidence && describe(uuid, evidence)) };
      const outputs = await listOutputs(transaction, ready.alert_uuid);
      // Those that were removed since then are not notified.
      const deliveries = outputs
        .filter(({ uuid: destination }) => destinations.includes(destination))
        .map((output) => ({ id: newUuid(), destinationUuid: output.uuid, body: writeBody(output, ready) }));
      if (deliveries.length > 0) await delivery.enqueue(transaction, deliveries);
      return ready;
    });
    if (notice === null) return;
    log.info({ notice: uuid, state }, "evidence complete");
    delivery.wake();
    this.#deps.notify(processUuid, notice);
  }
}

const NO_VIDEO = "there is no video of this time";

function listGaps(range: TimeRange, found: RecordedClip | null): readonly MissingEvidence[] {
  const toText = (ms: number): string => new Date(Math.round(ms)).toISOString();
  return (found?.gaps ?? [range]).slice(0, 20).map(({ fromMs, toMs }) => ({
    ...{ part: "clip" as const, reason: NO_VIDEO, from: toText(fromMs), to: toText(toMs) },
  }));
}

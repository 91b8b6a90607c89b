/**
 * The video that a process pulls from a camera, as it is received, published to the media hub while it is to be recorded or
 * kept for evidence. So there is one connection to the camera, and recordings have the capture times of the detections.
 */
import type { Logger } from "pino";
import { maskCredentials } from "../../schemas/mask.ts";
import type { SerialQueue } from "../async/serial-queue.ts";
import { backoff } from "../async/timing.ts";
import type { MediaHub, RunToken } from "../media/media-hub.ts";
import type { StateMachine } from "./lifecycle.ts";
import type { Attachment, AttachmentReport, RunnerLink } from "./runner.ts";

/** The slot, and the id it is attached under. */
export const ORIGINAL = "original";

export interface OriginalStreamDeps {
  readonly log: Logger;
  readonly machine: Pick<StateMachine, "state">;
  /** Of everything that changes the runner. */
  readonly queue: Pick<SerialQueue, "run">;
  readonly link: Pick<RunnerLink, "attach" | "detach">;
  readonly hub: Pick<MediaHub, "issueToken">;
  /** Of the process. */
  readonly graph: string;
  /** The graph has the slot. */
  isOffered(): boolean;
  now?(): number;
}

/** A format that cannot be published stays one. */
const RETRY = { firstMs: 5_000, maxMs: 300_000 };

export class OriginalStream {
  readonly #deps: OriginalStreamDeps;
  readonly #now: () => number;
  /** The path to publish to. */
  #wanted: string | null = null;
  #attached: { readonly path: string; readonly token: RunToken } | null = null;
  /** The runner has removed the branch, and not its id. */
  #hasFailed = false;
  #trouble: string | null = null;
  #failures = 0;
  #notBeforeMs = 0;
  #queued: Promise<void> | null = null;

  constructor(deps: OriginalStreamDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
  }

  /** Frames flow, and can be published. */
  get isReady(): boolean {
    const { machine, isOffered } = this.#deps;
    return isOffered() && machine.state === "running" && this.#now() >= this.#notBeforeMs;
  }

  get isAttached(): boolean {
    return this.#attached !== null;
  }

  /** Why there is no video of it; null: there is, or may be soon. */
  get trouble(): string | null {
    const { isOffered, graph } = this.#deps;
    return isOffered()
      ? this.#trouble
      : `the graph ${graph} has no slot \`${ORIGINAL}\`, which video of cameras is kept from`;
  }

  /** To this path of the hub; null: not any longer. Takes effect soon, and with every further runner. */
  want(path: string | null): void {
    this.#wanted = path;
    if (this.#isDue) this.#queueSync();
  }

  /** For the job of a new runner. */
  beginRun(): readonly Attachment[] {
    this.endRun();
    const isPossible = this.#deps.isOffered() && this.#now() >= this.#notBeforeMs;
    return this.#wanted === null || !isPossible ? [] : [this.#open(this.#wanted)];
  }

  handle({ attachment, status, detail }: AttachmentReport): void {
    if (attachment !== ORIGINAL || this.#attached === null) return;
    if (status === "live") {
      this.#failures = 0;
      this.#trouble = null;
    }
    if (status !== "failed") return;
    this.#close();
    this.#hasFailed = true;
    this.#fail(detail ?? "unknown");
  }

  endRun(): void {
    this.#close();
    this.#hasFailed = false;
  }

  get #isDue(): boolean {
    if (this.#hasFailed) return true;
    const path = this.#attached?.path ?? null;
    return path !== this.#wanted && (path !== null || this.isReady);
  }

  /** One that has not begun serves all changes until then. */
  #queueSync(): void {
    const { queue, log } = this.#deps;
    this.#queued ??= queue
      .run(async () => {
        this.#queued = null;
        await this.#sync();
      })
      // The runner has ended: the next one begins with it.
      .catch((error: unknown) => log.debug({ err: error }, "video of the source not attached"));
  }

  async #sync(): Promise<void> {
    const { machine, link } = this.#deps;
    if (machine.state !== "running" && machine.state !== "paused") return;
    if (this.#hasFailed || (this.#attached !== null && this.#attached.path !== this.#wanted)) {
      this.#hasFailed = false;
      await link.detach(ORIGINAL).finally(() => this.#close());
    }
    if (this.#wanted === null || this.#attached !== null || !this.isReady) return;
    const attachment = this.#open(this.#wanted);
    try {
      await link.attach(attachment);
    } catch (error) {
      this.#close();
      this.#fail((error as Error).message);
    }
  }

  #open(path: string): Attachment {
    const token = this.#deps.hub.issueToken("publish", path);
    this.#attached = { path, token };
    // Expendable: the process runs, whatever its camera sends.
    return { id: ORIGINAL, slot: ORIGINAL, params: { url: token.url }, isExpendable: true, isExternal: true };
  }

  #close(): void {
    this.#attached?.token.revoke();
    this.#attached = null;
  }

  #fail(reason: string): void {
    this.#failures += 1;
    const waitMs = backoff(this.#failures, RETRY);
    this.#notBeforeMs = this.#now() + waitMs;
    this.#trouble = `the video of this source cannot be kept, only H.264 and H.265 can: ${maskCredentials(reason)}`;
    this.#deps.log.warn({ reason: this.#trouble, waitMs: Math.round(waitMs) }, "video of the source not published");
  }
}

interface PullingProcess {
  readonly row: { readonly sourceUuid: string };
  readonly attachments: { readonly original: OriginalStream | null };
}

/** The cameras that processes of this node pull. Of several processes of one camera, one publishes it. */
export class PulledSources {
  readonly #processes: () => readonly PullingProcess[];

  constructor(processes: () => readonly PullingProcess[]) {
    this.#processes = processes;
  }

  get uuids(): readonly string[] {
    return [...this.#streams().keys()];
  }

  /** The path of each source that is to be published. */
  sync(paths: ReadonlyMap<string, string>): void {
    for (const [source, streams] of this.#streams()) {
      const publisher =
        streams.find(({ isAttached, isReady }) => isAttached && isReady) ??
        streams.find(({ isReady }) => isReady) ??
        streams.find(({ isAttached }) => isAttached) ??
        // Its next runner begins with it.
        streams[0];
      for (const stream of streams) stream.want(stream === publisher ? (paths.get(source) ?? null) : null);
    }
  }

  /** Why there is no video of a source; null: there is, or it is not known. */
  whyNot(sourceUuid: string): string | null {
    const streams = this.#streams().get(sourceUuid) ?? [];
    if (streams.some(({ isAttached }) => isAttached)) return null;
    return streams.map(({ trouble }) => trouble).find((trouble) => trouble !== null) ?? null;
  }

  #streams(): ReadonlyMap<string, readonly OriginalStream[]> {
    const found = new Map<string, OriginalStream[]>();
    for (const { row, attachments } of this.#processes()) {
      if (attachments.original === null) continue;
      const others = found.get(row.sourceUuid) ?? [];
      found.set(row.sourceUuid, [...others, attachments.original]);
    }
    return found;
  }
}

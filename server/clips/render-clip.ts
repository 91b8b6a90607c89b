/** Renders one clip in a runner of its own: decoded, drawn on and encoded by the elements that the live view uses. */
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { RunnerJob } from "../../schemas/runner.ts";
import { type RunAloneDeps, runAlone } from "../processes/run-alone.ts";
import { ServiceError } from "../service-error.ts";
import type { ClipRow } from "../store/clips.ts";
import type { SourceRange, SourceVideo } from "./source-video.ts";
import type { WorkFolder } from "./work-folder.ts";

export interface RenderDeps extends RunAloneDeps {
  readonly video: Pick<SourceVideo, "find" | "lend">;
  readonly detections: StoredMessages;
}

interface StoredMessages {
  /** By capture time, oldest first. */
  read(processUuid: string, range: { fromMs: number; toMs: number }): AsyncIterable<DetectionMessage>;
}

interface RenderOrder {
  readonly clip: ClipRow;
  readonly folder: WorkFolder;
  /** Aborted when it is not needed any longer, or no longer ours. */
  readonly signal: AbortSignal;
  /** From 0 to 1. */
  onProgress(part: number): void;
}

/**
 * MP4 with the index in front, so that it is played while it is received. Of constant quality, not of constant bit rate as
 * `encode` has it for live viewers: the frame rate of a recording may vary, and no viewer waits for the next frame.
 */
const GRAPH = `
graph: clip
about: Draws stored detections on a video.
params:
  detections: { type: [string, "null"], description: File of messages. }
  from: { type: [number, "null"], description: "Capture time in milliseconds." }
  to: { type: [number, "null"], description: "Capture time in milliseconds." }
  path: { type: string, description: File to write. }
  scratch: { type: string, description: File for frames until the index is known. }
chains:
  main:
    - source: { pace: fast }
    - decode
    - stage
    - stored: { path: $detections, from-ms: $from, to-ms: $to }
    - overlay
    - videoconvertscale: { add-borders: false }
    - capsfilter: { caps: "video/x-raw,format=I420,width=[2,32768,2],height=[2,32768,2]" }
    - x264enc: { pass: qual, quantizer: 21, vbv-buf-capacity: 0, speed-preset: veryfast, bframes: 0, key-int-max: 50 }
    - h264parse
    - mp4mux: { faststart: true, faststart-file: $scratch }
    - filesink: { location: $path, sync: false, async: false }
`;

/** Times of frames are rounded on their way. */
const ROUNDED_MS = 0.1;
const SOME_MS = 1e9;
/** Boxes of frames at both ends depend on messages outside of the range. */
const AROUND_MS = 2_000;

/** Resolves with the path of the file. Rejects with `ServiceError`, or an error whose message says why. */
export async function renderClip(deps: RenderDeps, { clip, folder, signal, onProgress }: RenderOrder): Promise<string> {
  const { sourceUuid, isFile, baseMs } = clip;
  const user = { uuid: clip.userUuid };
  const found = await deps.video.find(user, sourceUuid, { ...pick(clip), isPlain: true }, false);
  const input = await deps.video.lend(user, sourceUuid, found, folder);
  const detections = clip.processUuid === null ? null : await writeMessages(deps, clip, folder);
  const path = `${folder.path}/clip.mp4`;
  const shown = found?.clip ?? { ...pick(clip), zeroMs: 0 };
  // The first frame of a video may be before its time 0.
  const base = baseMs === 0 && isFile ? SOME_MS : baseMs;
  const epochMs = Math.floor(base + shown.zeroMs);
  const toCapture = (ms: number): number => epochMs + ms - shown.zeroMs - ROUNDED_MS;
  const job: RunnerJob = {
    ...{ uuid: clip.uuid, graph: "clip", graphText: GRAPH, sourceUri: input, sourceLabel: "", epochMs },
    ...{ firstTrackId: 1, attach: [], giveUpSeconds: 0 },
    positionNs: String(Math.round((found === null ? clip.fromMs : 0) * 1e6)),
    params: {
      ...{ detections, path, scratch: `${folder.path}/scratch` },
      ...{ from: toCapture(shown.fromMs), to: toCapture(shown.toMs) },
    },
  };
  signal.throwIfAborted();
  const end = await runAlone(deps, {
    ...{ job, folders: null, writes: [folder.path], signal },
    onReport(report, runner) {
      if (report.type !== "progress") return;
      const positionMs = Number(report.positionNs) / 1e6;
      const part = (positionMs + shown.zeroMs - shown.fromMs) / (shown.toMs - shown.fromMs);
      onProgress(Math.min(Math.max(part, 0), 0.99));
      // What comes after the range is only dropped.
      if (found === null && part > 1) void runner.stop();
    },
  });
  signal.throwIfAborted();
  if (end.kind !== "finished" && end.kind !== "stopped") throw new ServiceError("clip_failed", { detail: end.detail });
  return path;
}

const pick = ({ fromMs, toMs, isFile }: ClipRow): SourceRange => ({ fromMs, toMs, isFile });

async function writeMessages({ detections }: RenderDeps, clip: ClipRow, folder: WorkFolder): Promise<string> {
  const { processUuid, baseMs } = clip;
  const range = { fromMs: baseMs + clip.fromMs - AROUND_MS, toMs: baseMs + clip.toMs + AROUND_MS };
  const messages = detections.read(processUuid ?? "", range);
  return folder.write("detections.ndjson", toLines(messages));
}

async function* toLines(messages: AsyncIterable<DetectionMessage>): AsyncGenerator<string> {
  for await (const message of messages) yield `${JSON.stringify(message)}\n`;
}

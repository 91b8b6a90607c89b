/** Checks that a file is a video that can be played: by its first bytes, and by decoding its first frame. */
import { type NativeSegment, Pipeline } from "../../../native/pipeline.ts";
import type { ProbeResult, VideoFacts } from "../../../schemas/probe.ts";
import { DEMUXERS, findContainer, recogniseFile, VIDEO_PADS } from "../file-kind.ts";

const LIMIT_MS = 15_000;
/** Larger than the frames of any camera. */
const MAX_PIXELS = 8192 * 8192;

const NO_VIDEO = "has sound but no video";
const ENDED_EARLY = "is damaged or incomplete: it ends before its first frame";
const NOT_DECODED = "has a video of which no frame can be decoded";

/** The reason continues a sentence that begins with "The file". */
class NotAVideo extends Error {
  override readonly name = "NotAVideo";
}

/** Rejects when the file cannot be read; other faults are in the result. */
export async function examineVideo(file: string): Promise<ProbeResult> {
  const kind = recogniseFile(file);
  if (kind !== null) return rejected(`is not a video but ${kind}`);
  const container = findContainer(file);
  if (container === null) return rejected("is not mp4, mov, avi, ts, mkv or webm, judging by its first bytes");
  try {
    return { video: { container, ...(await readFirstFrame(file, container)) }, fault: null };
  } catch (error) {
    if (error instanceof NotAVideo) return rejected(error.message);
    throw error;
  }
}

const rejected = (fault: string): ProbeResult => ({ video: null, fault });

/** The demuxer reports the size first: a frame that is too large is not decoded. */
async function readFirstFrame(
  file: string,
  container: VideoFacts["container"],
): Promise<Omit<VideoFacts, "container">> {
  const fromPad = VIDEO_PADS[container];
  // Of a transport stream only a parser knows the size.
  const isParsed = container === "ts";
  const coded = await playTo("coded", {
    nodes: [
      node("file", "filesrc", { location: file }),
      node("demuxer", DEMUXERS[container]),
      ...(isParsed ? [node("parser", "parsebin")] : []),
      ...sinkOf("coded"),
    ],
    links: [
      { from: "file", to: "demuxer" },
      { from: "demuxer", fromPad, to: isParsed ? "parser" : "coded" },
      ...(isParsed ? [{ from: "parser", to: "coded" }] : []),
      { from: "coded", to: "sink" },
    ],
  });
  const size = readSize(coded.caps);
  if (size !== null && size.width * size.height > MAX_PIXELS)
    throw new NotAVideo(`has frames of ${size.width}x${size.height}, more than ${MAX_PIXELS} pixels`);
  const picture = await playTo("picture", {
    nodes: [
      node("file", "filesrc", { location: file }),
      node("demuxer", DEMUXERS[container]),
      node("decoder", "decodebin", { "force-sw-decoders": true }),
      ...sinkOf("picture"),
    ],
    links: [
      { from: "file", to: "demuxer" },
      { from: "demuxer", fromPad, to: "decoder" },
      { from: "decoder", to: "picture", caps: "video/x-raw(ANY)" },
      { from: "picture", to: "sink" },
    ],
  });
  const shown = readSize(picture.caps);
  if (shown === null) throw new NotAVideo(NOT_DECODED);
  const [codec = ""] = coded.caps.split(",");
  const { durationNs, ptsNs } = picture;
  return {
    ...{ codec, ...shown, fps: readRate(coded.caps) ?? readRate(picture.caps) },
    ...{ duration_ms: durationNs === null ? null : Number(durationNs / 1_000_000n) },
    start_ms: container === "ts" && ptsNs !== null ? Math.max(0, Number(ptsNs / 1000n) / 1000) : 0,
  };
}

const node = (name: string, factory: string, properties: Record<string, string | boolean> = {}) => ({
  name,
  factory,
  properties,
});
const sinkOf = (name: string) => [node(name, "identity"), node("sink", "fakesink", { sync: false })];

function readSize(caps: string): { width: number; height: number } | null {
  const width = Number(/width=\(int\)(\d+)/.exec(caps)?.[1] ?? 0);
  const height = Number(/height=\(int\)(\d+)/.exec(caps)?.[1] ?? 0);
  return width > 0 && height > 0 ? { width, height } : null;
}

function readRate(caps: string): number | null {
  const [, frames = 0, seconds = 0] = (/framerate=\(fraction\)(\d+)\/(\d+)/.exec(caps) ?? []).map(Number);
  return frames > 0 && seconds > 0 ? Math.round((frames / seconds) * 1000) / 1000 : null;
}

interface FirstBuffer {
  readonly caps: string;
  readonly ptsNs: bigint | null;
  readonly durationNs: bigint | null;
}

/**
 * The first buffer that leaves the node. A file without one, such as a download that was cut off, also prerolls:
 * only a playing pipeline reports its end.
 */
async function playTo(nodeName: string, segment: NativeSegment): Promise<FirstBuffer> {
  const pipeline = new Pipeline({ name: "probe", epochNs: 0n });
  try {
    await pipeline.build(segment);
    const first = new Promise<Pick<FirstBuffer, "caps" | "ptsNs">>((resolve) => pipeline.tap(nodeName, resolve));
    await pipeline.setState("PAUSED", LIMIT_MS);
    await pipeline.setState("PLAYING", LIMIT_MS);
    const { caps, ptsNs } = await Promise.race([first, endOf(pipeline)]);
    return { caps, ptsNs, durationNs: await pipeline.duration() };
  } catch (cause) {
    throw new NotAVideo(explain(cause instanceof Error ? cause.message : String(cause)), { cause });
  } finally {
    await pipeline.close();
  }
}

/** Rejects when the stream ends without a frame. */
async function endOf(pipeline: Pipeline): Promise<never> {
  for await (const message of pipeline.messages()) {
    if (message.type === "eos") throw new Error(ENDED_EARLY);
    if (message.type === "error") throw new Error(message.message);
  }
  throw new Error(ENDED_EARLY);
}

/** GStreamer's message without names of the pipeline's nodes, which mean nothing to a user. */
function explain(message: string): string {
  const plain = message
    .replace(/^cannot go to PAUSED: /, "")
    .replace(/^(?:file|demuxer|parser|decoder|picture|coded|sink): /, "");
  if (plain === ENDED_EARLY) return plain;
  if (/and no video$/.test(plain)) return NO_VIDEO;
  if (/no valid frames decoded/i.test(plain)) return NOT_DECODED;
  if (/no playable streams|incomplete|demultiplex|internal data stream error/i.test(plain))
    return "is damaged or incomplete: no video can be found in it";
  if (/missing|no suitable plugins/i.test(plain)) return `has a video for which no decoder is installed (${plain})`;
  return `cannot be played: ${plain}`;
}

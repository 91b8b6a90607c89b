/** Whether a file holds a video that can be played: what it is by its bytes, and its first picture decoded. */
import { type NativeSegment, Pipeline } from "../../../native/pipeline.ts";
import type { ProbeResult, VideoFacts } from "../../../schemas/probe.ts";
import { recogniseFile } from "../source-files.ts";
import { DEMUXERS, findContainer } from "./container.ts";

const LIMIT_MS = 15_000;
/** Larger pictures than any camera's: they would only eat memory. */
const MOST_PIXELS = 8192 * 8192;

const NO_PICTURES = "has sound in it and no video";
const ENDED_EARLY = "is damaged or not whole: it ends before its first picture";
const NOT_DECODED = "has a video in it of which no picture can be decoded";

/** Refused, in words that end "The file …". */
class NoVideo extends Error {
  override readonly name = "NoVideo";
}

/** Rejects when the file cannot be read; what is in it is told. */
export async function examineVideo(file: string): Promise<ProbeResult> {
  const kind = recogniseFile(file);
  if (kind !== null) return refused(`is no video but ${kind}`);
  const container = findContainer(file);
  if (container === null) return refused("is no mp4, mov or avi, judging by its first bytes");
  try {
    return { video: { container, ...(await readFirstPicture(file, container)) }, fault: null };
  } catch (error) {
    if (error instanceof NoVideo) return refused(error.message);
    throw error;
  }
}

const refused = (fault: string): ProbeResult => ({ video: null, fault });

/** Before the picture the demuxer tells its size: what is too large is not decoded. */
async function readFirstPicture(
  file: string,
  container: VideoFacts["container"],
): Promise<Omit<VideoFacts, "container">> {
  const coded = await playTo("coded", {
    nodes: [node("file", "filesrc", { location: file }), node("demuxer", DEMUXERS[container]), ...sinkOf("coded")],
    links: [
      { from: "file", to: "demuxer" },
      { from: "demuxer", fromPad: "video_%u", to: "coded" },
      { from: "coded", to: "sink" },
    ],
  });
  const size = readSize(coded.caps);
  if (size !== null && size.width * size.height > MOST_PIXELS)
    throw new NoVideo(`has pictures of ${size.width}x${size.height}, larger than can be worked on`);
  const picture = await playTo("picture", {
    nodes: [
      node("file", "filesrc", { location: file }),
      node("demuxer", DEMUXERS[container]),
      node("decoder", "decodebin", { "force-sw-decoders": true }),
      ...sinkOf("picture"),
    ],
    links: [
      { from: "file", to: "demuxer" },
      { from: "demuxer", fromPad: "video_%u", to: "decoder" },
      { from: "decoder", to: "picture", caps: "video/x-raw(ANY)" },
      { from: "picture", to: "sink" },
    ],
  });
  const shown = readSize(picture.caps);
  if (shown === null) throw new NoVideo(NOT_DECODED);
  const [codec = ""] = coded.caps.split(",");
  const { durationNs } = picture;
  return { codec, ...shown, duration_ms: durationNs === null ? null : Number(durationNs / 1_000_000n) };
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

/**
 * The caps of the first buffer that leaves the node. A file without one, such as a download that was cut off, also prerolls:
 * only a playing pipeline reports its end.
 */
async function playTo(nodeName: string, segment: NativeSegment): Promise<{ caps: string; durationNs: bigint | null }> {
  const pipeline = new Pipeline({ name: "probe", epochNs: 0n });
  try {
    await pipeline.build(segment);
    const first = new Promise<string>((resolve) => pipeline.tap(nodeName, ({ caps }) => resolve(caps)));
    await pipeline.setState("PAUSED", LIMIT_MS);
    await pipeline.setState("PLAYING", LIMIT_MS);
    const caps = await Promise.race([first, endOf(pipeline)]);
    return { caps, durationNs: await pipeline.duration() };
  } catch (cause) {
    throw new NoVideo(explain(cause instanceof Error ? cause.message : String(cause)), { cause });
  } finally {
    await pipeline.close();
  }
}

/** Rejects at the end of a stream that had nothing in it. */
async function endOf(pipeline: Pipeline): Promise<never> {
  for await (const message of pipeline.messages()) {
    if (message.type === "eos") throw new Error(ENDED_EARLY);
    if (message.type === "error") throw new Error(message.message);
  }
  throw new Error(ENDED_EARLY);
}

/** GStreamer's words without the parts of the pipeline, which mean nothing to who uploaded the file. */
function explain(message: string): string {
  const plain = message
    .replace(/^cannot go to PAUSED: /, "")
    .replace(/^(?:file|demuxer|decoder|picture|coded|sink): /, "");
  if (plain === ENDED_EARLY) return plain;
  if (/and no video$/.test(plain)) return NO_PICTURES;
  if (/no valid frames decoded/i.test(plain)) return NOT_DECODED;
  if (/no playable streams|incomplete|demultiplex/i.test(plain))
    return "is damaged or not whole: no video can be found in it";
  if (/missing|no suitable plugins/i.test(plain)) return `has a video in it that nothing here can decode (${plain})`;
  return `cannot be played: ${plain}`;
}

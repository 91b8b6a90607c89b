/** One frame of a video file as a JPEG. */
import { setTimeout as sleep } from "node:timers/promises";
import { Pipeline } from "../../../native/pipeline.ts";
import { DEMUXERS, findContainer, VIDEO_PADS } from "../file-kind.ts";

const LIMIT_MS = 10_000;
const ENCODE_MS = 2_000;

interface Wanted {
  readonly atNs: bigint;
  /** See `ThumbnailRequest`. */
  readonly isPart: boolean;
  readonly width: number;
}

/** The first frame of a part at that time or later, else the frame on display; rejects when there is none. */
export async function takeThumbnail(path: string, { atNs, isPart, width }: Wanted): Promise<Uint8Array> {
  const container = findContainer(path);
  if (container === null) throw new Error("the file is not mp4, mov, avi, ts, mkv or webm");
  const pipeline = new Pipeline({ name: "thumbnail", epochNs: 0n });
  try {
    await pipeline.build({
      nodes: [
        { name: "file", factory: "filesrc", properties: { location: path } },
        { name: "demuxer", factory: DEMUXERS[container], properties: {} },
        { name: "decoder", factory: "decodebin", properties: { "force-sw-decoders": true } },
        { name: "scale", factory: "videoconvertscale", properties: {} },
        {
          name: "small",
          factory: "capsfilter",
          // The height follows from the shape of the frame, also where its pixels are not square.
          properties: { caps: `video/x-raw,format=RGB,width=${width},pixel-aspect-ratio=1/1` },
        },
        { name: "convert", factory: "videoconvert", properties: {} },
        {
          name: "picture",
          factory: "capsfilter",
          // JPEG has full range. By way of RGB: the element does not convert the range of one format.
          properties: { caps: "video/x-raw,format=I420,colorimetry=1:4:0:0" },
        },
        { name: "sink", factory: "fakesink", properties: { sync: false } },
      ],
      links: [
        { from: "file", to: "demuxer" },
        { from: "demuxer", fromPad: VIDEO_PADS[container], to: "decoder" },
        { from: "decoder", to: "scale", caps: "video/x-raw(ANY)" },
        { from: "scale", to: "small" },
        { from: "small", to: "convert" },
        { from: "convert", to: "picture" },
        { from: "picture", to: "sink" },
      ],
    });
    const grabbed = pipeline.grab("picture", atNs, "image/jpeg");
    grabbed.catch(() => {});
    await pipeline.setState("PAUSED", LIMIT_MS);
    if (!isPart && atNs > 0n) await pipeline.seek(atNs);
    await pipeline.setState("PLAYING", LIMIT_MS);
    return (await Promise.race([grabbed, endOf(pipeline)])).image;
  } finally {
    await pipeline.close();
  }
}

async function endOf(pipeline: Pipeline): Promise<never> {
  for await (const message of pipeline.messages()) {
    if (message.type === "eos") {
      // The last frame is encoded meanwhile.
      await sleep(ENCODE_MS);
      throw new Error("the video ends before this time");
    }
    if (message.type === "error") throw new Error(message.message);
  }
  throw new Error("the pipeline was closed");
}

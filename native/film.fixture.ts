/** Video files for tests, and the frames of files that a test has written. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, chain, ending, newPipeline, pictures, play, type Steps, sink } from "./pipeline.fixture.ts";
import type { NativeSegment } from "./pipeline.ts";

/** A temporary folder, removed afterwards. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "windhover-film-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const H264: Steps = {
  encoder: ["x264enc", { tune: "zerolatency", "speed-preset": "ultrafast", "key-int-max": 10 }],
  parser: ["h264parse"],
};

const merge = (...segments: readonly NativeSegment[]): NativeSegment => ({
  nodes: segments.flatMap(({ nodes }) => nodes),
  links: segments.flatMap(({ links }) => links),
});

/** An MP4 of 64 x 48 at 30 fps; with `sound`, a second stream. */
export async function makeFilm(location: string, frames: number, sound: boolean): Promise<void> {
  const pipeline = newPipeline("film");
  const video = chain({ ...pictures(frames), ...H264, muxer: ["mp4mux"], file: ["filesink", { location }] });
  const audio = chain({
    tone: ["audiotestsrc", { "num-buffers": frames, samplesperbuffer: 1470 }],
    voice: ["avenc_aac"],
    track: ["aacparse"],
  });
  const joined = { nodes: [], links: [{ from: "track", to: "muxer" }] };
  await pipeline.build(sound ? merge(video, audio, joined) : video);
  await pipeline.setState("PLAYING");
  const end = await ending(pipeline);
  await pipeline.close();
  if (end.type === "error") throw new Error(end.message);
}

/** An MP4 without video. */
export const makeSound = (location: string): Promise<void> =>
  play({
    tone: ["audiotestsrc", { "num-buffers": 20 }],
    voice: ["avenc_aac"],
    muxer: ["mp4mux"],
    file: ["filesink", { location }],
  });

/** PTS of every decoded frame of a file. */
export async function framesOf(location: string): Promise<bigint[]> {
  const seen: bigint[] = [];
  const out = sink((frame) => void seen.push(frame.ptsNs ?? -1n));
  const pipeline = await build({
    file: ["filesrc", { location }],
    decoder: ["decodebin", {}, "video/x-raw"],
    out: [out],
  });
  await pipeline.setState("PLAYING");
  const end = await ending(pipeline);
  await pipeline.close();
  if (end.type === "error") throw new Error(end.message);
  return seen;
}

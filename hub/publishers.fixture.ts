/** Streams of unusual publishers, and whether they arrive as they were encoded. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import { codecOf } from "../media/codecs.ts";
import { type Clip, type ClipOptions, makeClip } from "../media/mp4/clip.fixture.ts";

/** 25 fps, a keyframe every 10 pictures. */
const short = (options: ClipOptions): Clip => makeClip({ seconds: 1, fps: 25, gop: 10, size: "160x96", ...options });

const OPTIONS = {
  plain: {},
  audio: { hasAudio: true },
  large: { size: "320x180" },
  portrait: { size: "96x160" },
  bFrames: { bFrames: 2, encoder: ["-b_strategy", "0"] },
  tenBits: { pixels: "yuv420p10le" },
  interlaced: { encoder: ["-flags", "+ilme+ildct", "-x264-params", "tff=1"] },
  h265: { codec: "h265", pixels: "yuv420p10le" },
} as const satisfies Readonly<Record<string, ClipOptions>>;

/** Of the clip with audio. */
export const AAC_CONFIG_HEX = "1190";

export type ClipName = keyof typeof OPTIONS;
const made = new Map<ClipName, Clip>();

/** Encoded when it is first used. */
export function clip(name: ClipName): Clip {
  const known = made.get(name) ?? short(OPTIONS[name]);
  made.set(name, known);
  return known;
}

/** What readers of a publication got. */
export interface Received {
  readonly tracks: readonly Tracks[];
  readonly units: readonly AccessUnit[];
}

/** Digests of the pictures, without parameter sets and SEI. */
function digestPictures(units: readonly AccessUnit[], { video }: Pick<Tracks, "video">): string[] {
  const codec = codecOf(video);
  return units
    .filter(({ kind }) => kind === "video")
    .map(({ parts }) => {
      const hash = createHash("md5");
      for (const nal of parts) if (codec.kindOf(nal) === "slice") hash.update(nal);
      return hash.digest("hex").slice(0, 8);
    });
}

export interface Expected {
  /** All pictures of these, in this order. */
  readonly shows: readonly ClipName[];
  /** Pictures that are lost, by their position. */
  readonly without?: readonly number[];
  /** Milliseconds from each picture to the next, in the order in which they are shown; null: any. 40 by default. */
  readonly stepMs?: number | null;
  readonly hasAudio?: boolean;
}

/** Every picture has arrived, in order and with valid times, and the tracks are those of the clips. */
export function assertReceived(received: Received, expected: Expected): void {
  const { shows, without = [], stepMs = 40, hasAudio = false } = expected;
  const { tracks, units } = received;
  const sent = shows.map(clip);
  const pictures = units.filter(({ kind }) => kind === "video");
  assert.deepEqual(
    digestPictures(pictures, tracks[0] ?? assert.fail("it was not published")),
    sent.flatMap(({ units: all, tracks: own }) => digestPictures(all, own)).filter((_, i) => !without.includes(i)),
  );
  const inOrder = (all: readonly AccessUnit[]) =>
    all.filter(({ kind }) => kind === "video").toSorted((a, b) => a.ptsUs - b.ptsUs);
  if (without.length === 0)
    assert.deepEqual(
      digestPictures(inOrder(pictures), tracks[0] ?? assert.fail()),
      sent.flatMap(({ units: all, tracks: own }) => digestPictures(inOrder(all), own)),
      "the order of display",
    );
  const sizes = sent.map(({ tracks: { video } }) => `${video.codec} ${video.width}x${video.height}`);
  assert.deepEqual(
    [...new Set(tracks.map(({ video }) => `${video.codec} ${video.width}x${video.height}`))],
    [...new Set(sizes)],
  );
  for (const kind of ["video", "audio"] as const) {
    let last = -1;
    for (const { dtsUs, ptsUs } of units.filter((unit) => unit.kind === kind)) {
      assert.ok(dtsUs > last && ptsUs >= dtsUs, `${kind}: ${dtsUs} µs after ${last} µs, shown at ${ptsUs} µs`);
      last = dtsUs;
    }
  }
  if (hasAudio)
    assert.ok(
      units.some(({ kind }) => kind === "audio"),
      "there is no audio",
    );
  else
    assert.ok(
      units.every(({ kind }) => kind === "video"),
      "there is audio",
    );
  if (stepMs === null) return;
  const shown = pictures.map(({ ptsUs }) => ptsUs).sort((a, b) => a - b);
  // Protocols round times to milliseconds, and to the time of arrival where there are no others.
  for (let i = 1; i < shown.length; i++) {
    const step = ((shown[i] ?? 0) - (shown[i - 1] ?? 0)) / 1000;
    assert.ok(Math.abs(step - stepMs) <= 2, `picture ${i} is shown ${step} ms after the one before`);
  }
}

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { AccessUnit, Tracks } from "../access-unit.ts";
import { findBox } from "./box.ts";
import { type Clip, makeClip } from "./clip.fixture.ts";
import { countWithGstreamer, hashClip, hashPictures, probePackets, withFolder } from "./decode.fixture.ts";
import { readMoof } from "./fragment.ts";
import { type Fragment, Fragmenter, type FragmenterOptions } from "./fragmenter.ts";
import { writeInitSegment } from "./init-segment.ts";

const plain = makeClip({ seconds: 2, hasAudio: true });

function fragment({ tracks, units }: Pick<Clip, "tracks" | "units">, options: FragmenterOptions = {}): Fragment[] {
  const fragmenter = new Fragmenter(tracks, options);
  const fragments: (Fragment | null)[] = [];
  for (const unit of units) {
    fragmenter.add(unit);
    if (fragmenter.readyUs >= 200_000) fragments.push(fragmenter.cut());
  }
  fragments.push(fragmenter.drain());
  assert.equal(fragmenter.bytes, 0);
  return fragments.filter((one) => one !== null);
}

const toFile = (tracks: Tracks, fragments: readonly Fragment[]): Buffer =>
  Buffer.concat([writeInitSegment(tracks), ...fragments.map(({ data }) => data)]);

const runsOf = ({ data }: Fragment) => readMoof(findBox(data, "moof") ?? Buffer.of());
const inSeconds = (us: number): string => (us / 1e6).toFixed(4);

describe("playback of fragments", () => {
  const kinds = [
    ["pictures in order", { seconds: 2, gop: 30 }],
    ["B-frames and sound", { seconds: 2, bFrames: 3, hasAudio: true }],
    ["H.265", { seconds: 2, bFrames: 3, codec: "h265" }],
    ["sound, and a rate that microseconds cannot express", { seconds: 2, fps: 24, hasAudio: true }],
  ] as const;
  for (const [name, options] of kinds) {
    test(`every picture and audio frame is there, at its time: ${name}`, () => {
      const clip = makeClip(options);
      withFolder((folder) => {
        const file = join(folder, "made.mp4");
        writeFileSync(file, toFile(clip.tracks, fragment(clip)));
        assert.deepEqual(hashPictures(file), hashClip(clip));
        assert.equal(countWithGstreamer(file, 320, 180, clip.tracks.video.codec), clip.pictures);
        const packets = probePackets(file);
        for (const kind of ["video", "audio"] as const) {
          const found = packets.filter(({ codec_type }) => codec_type === kind);
          const given = clip.units.filter((unit) => unit.kind === kind);
          assert.deepEqual(
            found.map(({ pts_time }) => Number(pts_time).toFixed(4)),
            given.map(({ ptsUs }) => inSeconds(ptsUs)),
          );
          assert.deepEqual(
            found.map(({ flags }) => flags.startsWith("K")),
            given.map(({ isKey }) => isKey),
          );
        }
      });
    });
  }
});

test("a stream that has been on for a day keeps its times", () => {
  const dayUs = 86_400e6;
  const units = plain.units.map((unit) => ({ ...unit, dtsUs: unit.dtsUs + dayUs, ptsUs: unit.ptsUs + dayUs }));
  const fragments = fragment({ ...plain, units });
  assert.equal(fragments[0]?.startUs, dayUs);
  withFolder((folder) => {
    const file = join(folder, "made.mp4");
    writeFileSync(file, toFile(plain.tracks, fragments));
    assert.equal(Number(probePackets(file)[0]?.pts_time), 86_400);
  });
});

test("audio timestamps rounded to milliseconds get exact durations", () => {
  const units = plain.units.map((unit) => {
    const rounded = Math.floor(unit.dtsUs / 1000) * 1000;
    return unit.kind === "audio" ? { ...unit, dtsUs: rounded, ptsUs: rounded } : unit;
  });
  const runs = fragment({ ...plain, units })
    .flatMap(runsOf)
    .filter(({ trackId }) => trackId === 2);
  assert.ok(runs.length > 5);
  for (const { duration, samples } of runs) assert.equal(duration, samples * 1024);
});

test("audio after a pause resumes at its time", () => {
  const sounds = plain.units.filter(({ kind, dtsUs }) => kind === "video" || dtsUs < 400_000 || dtsUs > 1_200_000);
  const runs = fragment({ ...plain, units: sounds }, { maxSampleUs: 500_000 })
    .flatMap(runsOf)
    .filter(({ trackId }) => trackId === 2);
  const starts = sounds.filter(({ kind }) => kind === "audio").map(({ dtsUs }) => Math.round(dtsUs * 0.048));
  for (const { time } of runs) assert.ok(starts.includes(time), `${time} is the time of a frame`);
});

test("a picture that lasts too long is followed by a gap", () => {
  const late = (unit: AccessUnit): AccessUnit =>
    unit.dtsUs < 1_000_000 ? unit : { ...unit, dtsUs: unit.dtsUs + 3_000_000, ptsUs: unit.ptsUs + 3_000_000 };
  const [with_, without] = [{ maxSampleUs: 2_000_000 }, {}].map((options) =>
    fragment({ ...plain, units: plain.units.map(late) }, options),
  );
  const durations = (fragments: readonly Fragment[] = []) => fragments.map(({ durationUs }) => durationUs);
  assert.ok(Math.max(...durations(with_)) < 300_000);
  assert.ok(Math.max(...durations(without)) > 3_000_000);
  assert.equal(with_?.at(-1)?.startUs, without?.at(-1)?.startUs);
});

test("the parameter sets that the track has are not repeated, others are", () => {
  const other = Uint8Array.of(0x68, 1, 2, 3);
  const { sets } = plain.tracks.video;
  const [key] = plain.units;
  assert.ok(key);
  const measure = (parts: readonly Uint8Array[]): number | undefined => {
    const fragmenter = new Fragmenter(plain.tracks);
    fragmenter.add({ ...key, parts });
    return fragmenter.drain()?.data.length;
  };
  const bare = measure([Uint8Array.of(0x65, 1)]) ?? 0;
  assert.equal(measure([...sets, Uint8Array.of(0x65, 1)]), bare);
  assert.equal(measure([...sets, other, Uint8Array.of(0x65, 1)]), bare + 4 + other.length);
});

test("drops units before the start of the file", () => {
  const fragmenter = new Fragmenter(plain.tracks, { zeroUs: 500_000 });
  for (const unit of plain.units) fragmenter.add(unit);
  const { startUs, pictures } = fragmenter.drain() ?? {};
  assert.equal(startUs, 0);
  assert.equal(pictures, 45);
});

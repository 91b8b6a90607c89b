import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { type AudioTrack, MediaError } from "../media/access-unit.ts";
import { CODECS, isParameterSet } from "../media/codecs.ts";
import { BitWriter } from "../media/h264/bit-writer.fixture.ts";
import { NAL, nalType, splitStartCodes } from "../media/h264/nal.ts";
import { makeClip } from "../media/mp4/clip.fixture.ts";
import { Ingest } from "./ingest.ts";
import { KeepingReader } from "./reader.fixture.ts";
import { Streams } from "./streams.ts";

const LIMITS = {
  publishers: 3,
  readersPerStream: 4,
  cacheBytes: 2 ** 24,
  keyBytes: 2 ** 30,
  frozenMs: 60_000,
  keylessMs: 60_000,
};
const STEP = 40_000;
const AUDIO: AudioTrack = { codec: "aac", config: Buffer.from("1190", "hex"), sampleRate: 48_000, channels: 2 };

/** One array of NAL units a picture, as an encoder makes them: with delimiters. */
function encode(size: string, ...options: string[]): Uint8Array[][] {
  const stream = execFileSync("ffmpeg", [
    ...["-v", "error", "-f", "lavfi", "-i", `testsrc=size=${size}:rate=25`, "-frames:v", "12", "-pix_fmt", "yuv420p"],
    ...["-c:v", "libx264", "-x264-params", "aud=1:keyint=6:scenecut=0", ...options, "-f", "h264", "-"],
  ]);
  const pictures: Uint8Array[][] = [];
  for (const nal of splitStartCodes(stream)) {
    if (nalType(nal) === NAL.delimiter) pictures.push([]);
    pictures.at(-1)?.push(nal);
  }
  return pictures;
}

const PLAIN = encode("320x180", "-bf", "0");
const LARGER = encode("640x360", "-bf", "0");
const WITH_B = encode("320x180", "-bf", "2", "-b_strategy", "0");

/** Everything is read from the first keyframe on. */
function open(t: TestContext, unitBytes = 2 ** 20) {
  const clock = { ms: 0 };
  const reader = new KeepingReader();
  const streams: Streams = new Streams(LIMITS, { published: ({ path }) => streams.read(path, reader) });
  t.after(() => streams.close("the test is over"));
  const ingest = new Ingest(streams.publish("a/b", "rtmp", null), { unitBytes }, () => clock.ms);
  let pts = 10_000_000;
  const send = (pictures: readonly (readonly Uint8Array[])[]): void => {
    for (const nals of pictures) {
      ingest.pushVideo({ ptsUs: pts, dtsUs: null, captureMs: null, nals });
      pts += STEP;
      clock.ms += STEP / 1000;
    }
  };
  return { ingest, reader, send, streams, clock };
}

const H265 = makeClip({ codec: "h265", seconds: 1, fps: 25, gop: 12, bFrames: 2 });

test("H.265: parameter sets that were sent once are in front of every keyframe", (t) => {
  const { ingest, reader, streams } = open(t);
  ingest.setCodec("h265");
  ingest.setVideo(...H265.tracks.video.sets);
  for (const { ptsUs, dtsUs, parts } of H265.units) {
    const nals = parts.filter((nal) => !isParameterSet(CODECS.h265, nal));
    ingest.pushVideo({ ptsUs, dtsUs, captureMs: null, nals: [Uint8Array.of(35 << 1, 1, 0x50), ...nals] });
  }
  const units = reader.units.map(({ unit }) => unit);
  assert.deepEqual(
    units.map(({ isKey, parts }) => [isKey, Buffer.concat(parts).toString("hex")]),
    H265.units.map(({ isKey, parts }) => [isKey, Buffer.concat(parts).toString("hex")]),
  );
  assert.deepEqual(reader.tracks.length, 1);
  assert.deepEqual(streams.tracks("a/b")?.video.codec, "h265");
});

test("H.265: without a VPS, nothing is published; the order of B-frames is that of the SPS", (t) => {
  const { ingest, reader } = open(t);
  ingest.setCodec("h265");
  const [, ...sets] = H265.tracks.video.sets;
  ingest.setVideo(...sets);
  const push = (vps: readonly Uint8Array[]) => {
    for (const { ptsUs, parts, isKey } of H265.units) {
      const nals = parts.filter((nal) => !isParameterSet(CODECS.h265, nal));
      ingest.pushVideo({ ptsUs, dtsUs: null, captureMs: null, nals: isKey ? [...vps, ...nals] : nals });
    }
  };
  push([]);
  assert.equal(reader.units.length, 0);
  push(H265.tracks.video.sets.slice(0, 1));
  assert.equal(reader.tracks[0]?.video.reorders, true);
  const units = reader.units.map(({ unit }) => unit);
  assert.equal(units.length, H265.units.length);
  for (const [i, { dtsUs, ptsUs }] of units.entries())
    assert.ok(dtsUs <= ptsUs && (i === 0 || dtsUs > (units[i - 1]?.dtsUs ?? 0)), `${i}: ${dtsUs} ${ptsUs}`);
  const [first] = units;
  assert.deepEqual(
    units.map(({ ptsUs }) => Math.round((ptsUs - (first?.ptsUs ?? 0)) / 40_000)),
    H265.units.map(({ ptsUs }) => Math.round((ptsUs - (H265.units[0]?.ptsUs ?? 0)) / 40_000)),
  );
});

test("the codec of a publication cannot change", (t) => {
  const { ingest, send } = open(t);
  ingest.setCodec("h265");
  ingest.setCodec("h264");
  send(PLAIN);
  ingest.setCodec("h264");
  assert.throws(() => ingest.setCodec("h265"), {
    ...{ constructor: MediaError, message: "the codec changed from H.264 to H.265: publish the stream again" },
  });
});

const without = (pictures: readonly Uint8Array[][], ...types: number[]): Uint8Array[][] =>
  pictures.map((nals) => nals.filter((nal) => !types.includes(nalType(nal))));

const typesOf = (parts: readonly Uint8Array[] | undefined): number[] => (parts ?? []).map(nalType);

test("keeps order, removes delimiters, and starts keyframes with SPS and PPS", (t) => {
  const { reader, send } = open(t);
  send(PLAIN);
  assert.deepEqual(reader.words, [
    "begin 320x180",
    ...PLAIN.map((_, i) => `${i % 6 === 0 ? "key" : "picture"} ${i * 40}${i === 0 ? " cached" : ""}`),
  ]);
  for (const { unit } of reader.units) {
    const types = typesOf(unit.parts);
    assert.ok(!types.includes(NAL.delimiter));
    if (unit.isKey) assert.deepEqual(types.slice(0, 2), [NAL.sps, NAL.pps]);
    assert.equal(types.filter((type) => type === NAL.sps).length, unit.isKey ? 1 : 0);
    assert.ok(Math.abs(unit.captureMs - Date.now()) < 60_000);
  }
});

test("prepends SPS and PPS that were sent apart from the stream", (t) => {
  const { ingest, reader, send } = open(t);
  const [sps, pps] = [NAL.sps, NAL.pps].map((type) => PLAIN[0]?.find((nal) => nalType(nal) === type));
  assert.ok(sps && pps);
  ingest.setVideo(sps, pps);
  send(without(PLAIN, NAL.sps, NAL.pps));
  assert.equal(reader.units.length, PLAIN.length);
  for (const { unit } of reader.units) if (unit.isKey) assert.deepEqual(typesOf(unit.parts).slice(0, 2), [7, 8]);
});

test("keyframes start with every PPS of the stream", (t) => {
  const { ingest, reader, send } = open(t);
  const [sps, pps] = [NAL.sps, NAL.pps].map((type) => PLAIN[0]?.find((nal) => nalType(nal) === type));
  assert.ok(sps && pps);
  const second = Uint8Array.from([0x68, 0x5b, 0x20]);
  ingest.setVideo(sps, pps, second, second);
  send(without(PLAIN.slice(0, 1), NAL.sps, NAL.pps));
  assert.deepEqual(
    typesOf(reader.units[0]?.unit.parts)
      .slice(0, 4)
      .filter((type) => type === NAL.pps).length,
    2,
  );
  for (let id = 2; id < 16; id++) ingest.setVideo(new BitWriter().ue(id).nal(0x68));
  assert.throws(() => ingest.setVideo(new BitWriter().ue(16).nal(0x68)), /more than 16 PPS/);
});

/** The same SPS or PPS, or key slice, by other numbers: the one that x264 writes is always 0. */
function renumber(nal: Uint8Array): Uint8Array {
  const bits = [...nal.subarray(1)].flatMap((byte) => [...byte.toString(2).padStart(8, "0")]);
  const type = nalType(nal);
  // Where a number 0, which is written `1`, becomes 1, written `010`: after the profile; both at once; after the slice's type.
  const [at, count] = type === NAL.sps ? [24, 1] : type === NAL.pps ? [0, 2] : [8, 1];
  bits.splice(at, count, ...(count === 2 ? "010010" : "010"));
  while (bits.length % 8 !== 0) bits.push("0");
  const bytes = bits.join("").match(/.{8}/g) ?? [];
  return Uint8Array.from([nal[0] as number, ...bytes.map((byte) => Number.parseInt(byte, 2))]);
}

test("keyframes start with both SPS, and an inactive SPS does not publish new tracks", (t) => {
  const { reader, send } = open(t);
  const others = PLAIN[0]?.filter((nal) => [NAL.sps, NAL.pps].includes(nalType(nal) as 7)).map(renumber) ?? [];
  send([[...others, ...(PLAIN[0] ?? [])], ...PLAIN.slice(1, 6)]);
  send([[...(PLAIN[6] ?? []), ...others]]);
  assert.equal(reader.tracks.length, 1);
  const key = PLAIN[6]?.map((nal) => (nalType(nal) === NAL.idr ? renumber(nal) : nal)) ?? [];
  send([key]);
  assert.equal(reader.tracks.length, 2, "a keyframe of the other one is a new beginning");
  assert.deepEqual(reader.tracks[1]?.video.sets[0], new Uint8Array(others[0] ?? []));
  const keys = reader.units.filter(({ unit }) => unit.kind === "video" && unit.isKey);
  assert.equal(keys.length, 3);
  for (const { unit } of keys.slice(1)) assert.deepEqual(typesOf(unit.parts).slice(0, 4), [7, 7, 8, 8]);
});

test("starts at a keyframe with SPS and PPS", (t) => {
  const { ingest, reader, send } = open(t);
  ingest.setAudio(AUDIO);
  ingest.pushAudio({ ptsUs: 0, captureMs: null, frame: new Uint8Array(9) });
  send(PLAIN.slice(3, 6));
  send(without(PLAIN.slice(0, 3), NAL.pps));
  assert.deepEqual(reader.words, []);
  send(PLAIN.slice(6));
  assert.equal(reader.words[0], "begin 320x180 with sound");
  assert.equal(reader.units.length, 6);
});

test("publishes new tracks at the keyframe of a new resolution, and drops what cannot be decoded", (t) => {
  const { reader, send } = open(t);
  send(PLAIN.slice(0, 3));
  // The parameter sets come ahead of the keyframe they belong to.
  send([[...(LARGER[0]?.slice(0, 3) ?? []), ...(PLAIN[3] ?? [])]]);
  send(PLAIN.slice(4, 6));
  send(LARGER.slice(0, 3));
  assert.deepEqual(reader.words.slice(-4), ["begin 640x360", "key 240", "picture 280", "picture 320"]);
  assert.equal(reader.units.length, 6);
});

test("a changed PPS does not publish new tracks", (t) => {
  const { reader, send } = open(t);
  const changed = PLAIN.map((nals) =>
    nals.map((nal) => (nalType(nal) === NAL.pps ? Buffer.concat([nal.subarray(0, -1), Buffer.from([0xff])]) : nal)),
  );
  send(PLAIN.slice(0, 6));
  send(changed.slice(6));
  assert.equal(reader.tracks.length, 1);
  assert.equal(Buffer.from(reader.units.at(6)?.unit.parts[1] ?? []).at(-1), 0xff);
});

test("keeps decoding and display order of B-frames", (t) => {
  const { ingest, reader } = open(t);
  const shown = showOrder(WITH_B);
  WITH_B.forEach((nals, i) => {
    ingest.pushVideo({ ptsUs: 7e6 + (shown[i] ?? 0) * STEP, dtsUs: null, captureMs: null, nals });
  });
  assert.equal(reader.tracks[0]?.video.reorders, true);
  const first = reader.units[0]?.unit.ptsUs ?? 0;
  reader.units.forEach(({ unit }, i) => {
    assert.equal(unit.ptsUs - first, (shown[i] ?? 0) * STEP);
    assert.ok(unit.ptsUs >= unit.dtsUs);
  });
  assert.equal(reader.units.length, WITH_B.length);
});

/** By whether a picture is referred to: B pictures are shown before the P picture that came ahead of them. */
function showOrder(pictures: readonly Uint8Array[][]): number[] {
  const isB = pictures.map((nals) => nals.some((nal) => nalType(nal) === NAL.slice && ((nal[0] ?? 0) & 0x60) === 0));
  const order: number[] = [];
  let at = 0;
  for (let i = 0; i < pictures.length; ) {
    let end = i + 1;
    while (end < pictures.length && isB[end]) end++;
    const count = end - i - 1;
    order[i] = at + count;
    for (let b = 0; b < count; b++) order[i + 1 + b] = at + b;
    at += count + 1;
    i = end;
  }
  return order;
}

test("audio that is announced later starts at the next keyframe", (t) => {
  const { ingest, reader, send } = open(t);
  send(PLAIN.slice(0, 2));
  ingest.setAudio(AUDIO);
  ingest.setAudio({ ...AUDIO, config: Buffer.from("1190", "hex") });
  send(PLAIN.slice(2, 7));
  ingest.pushAudio({ ptsUs: 10_000_000 + 6 * STEP + 5000, captureMs: null, frame: new Uint8Array(9) });
  assert.deepEqual(reader.words.slice(-3), ["begin 320x180 with sound", "key 240", "sound 245"]);
  assert.equal(reader.tracks.length, 2);
  assert.equal(reader.units.length, 8);
});

test("a picture with a recovery point is a keyframe", (t) => {
  const { ingest, reader, send } = open(t);
  const [sps, pps] = [NAL.sps, NAL.pps].map((type) => PLAIN[0]?.find((nal) => nalType(nal) === type));
  assert.ok(sps && pps);
  ingest.setVideo(sps, pps);
  send(PLAIN.slice(1, 3));
  send([[Uint8Array.from([6, 6, 1, 0xc4, 0x80]), ...(PLAIN[3] ?? [])]]);
  assert.deepEqual(reader.words, ["begin 320x180", "key 0 cached"]);
});

test("rejects oversized pictures and invalid parameter sets with a reason", (t) => {
  const { ingest, send } = open(t, 20_000);
  send(PLAIN.slice(0, 1));
  const picture = (...nals: Uint8Array[]) => ingest.pushVideo({ ptsUs: 0, dtsUs: null, captureMs: null, nals });
  assert.throws(() => picture(Buffer.alloc(20_001, 0x65)), /the picture has more than 20000 bytes/);
  assert.throws(() => picture(...Array<Uint8Array>(5000).fill(Uint8Array.from([0x41, 1]))), /more than 4096 NAL units/);
  assert.throws(() => picture(Uint8Array.from([0x67, 1])), {
    constructor: MediaError,
    message: /the SPS is truncated/,
  });
  assert.throws(() => picture(Uint8Array.from([0x68])), { constructor: MediaError, message: /the PPS is truncated/ });
  assert.throws(() => ingest.pushAudio({ ptsUs: 0, captureMs: null, frame: Buffer.alloc(20_001) }), MediaError);
});

test("ignores the capture time of a publisher with a wrong clock", (t) => {
  const { ingest, reader, clock } = open(t);
  const now = Date.now();
  for (const [i, captureMs] of [now - 250, 86_400_000, Number.NaN, null].entries()) {
    ingest.pushVideo({ ptsUs: i * STEP, dtsUs: null, captureMs, nals: PLAIN[i] ?? [] });
    clock.ms += 40;
  }
  const [stated, ...guessed] = reader.units.map(({ unit }) => unit.captureMs);
  assert.equal(stated, now - 250);
  for (const ms of guessed) assert.ok(ms >= now);
});

test("any NAL units in any order are units or a `MediaError`", (t) => {
  const nal = fc.oneof(
    fc.constantFrom(...[...PLAIN.flat(), ...LARGER.flat(), ...WITH_B.flat()]),
    fc.uint8Array({ maxLength: 30 }),
    fc
      .tuple(fc.constantFrom(0x67, 0x68, 0x65, 0x41, 0x06), fc.uint8Array({ maxLength: 30 }))
      .map(([head, tail]) => Uint8Array.from([head, ...tail])),
  );
  const picture = fc.record({ nals: fc.array(nal, { maxLength: 6 }), ptsUs: fc.oneof(fc.constant(null), fc.double()) });
  fc.assert(
    fc.property(fc.array(picture, { maxLength: 20 }), (pictures) => {
      const { ingest, reader, streams } = open(t);
      try {
        for (const { nals, ptsUs } of pictures) ingest.pushVideo({ ptsUs, dtsUs: null, captureMs: null, nals });
      } catch (error) {
        assert.ok(error instanceof MediaError, String(error));
      }
      let last = -1;
      for (const { unit } of reader.units) {
        assert.ok(unit.dtsUs > last && unit.ptsUs >= unit.dtsUs);
        last = unit.dtsUs;
      }
      assert.ok(reader.units.length === 0 || reader.units[0]?.unit.isKey);
      streams.close("done");
    }),
    { numRuns: 300 },
  );
});

test("metadata goes with the next picture, as far from it as its publisher says, and is bounded", (t) => {
  const { ingest, reader, send } = open(t);
  const unit = (value: number, ptsUs: number | null) => ({ ptsUs, data: Uint8Array.of(6, 14, 43, 52, value) });
  ingest.pushKlv(unit(0, null));
  ingest.setKlv("synchronous");
  ingest.pushKlv(unit(1, 9_999_000));
  ingest.pushKlv(unit(2, null));
  // By another clock.
  ingest.pushKlv(unit(3, 99_000_000));
  ingest.pushKlv({ ptsUs: null, data: Buffer.alloc(70_000) });
  send(PLAIN.slice(0, 2));
  for (let i = 0; i < 100; i++) ingest.pushKlv(unit(i, null));
  send(PLAIN.slice(2, 3));
  const [first, second, third] = reader.units.map(({ unit }) => unit);
  assert.equal(reader.tracks[0]?.klv, "synchronous");
  assert.deepEqual(
    first?.klv?.map(({ ptsUs, data }) => [data[4], ptsUs - first.ptsUs]),
    [
      [1, -1000],
      [2, 0],
      [3, 0],
    ],
  );
  assert.equal(second?.klv, undefined);
  assert.deepEqual([third?.klv?.length, third?.klv?.at(-1)?.data[4]], [32, 99]);
});

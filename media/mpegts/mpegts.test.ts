import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AdtsReader, writeAdtsHeader } from "../aac/adts.ts";
import { type AccessUnit, MediaError } from "../access-unit.ts";
import { splitStartCodes } from "../h264/nal.ts";
import { TRACKS } from "../tracks.fixture.ts";
import { type ElementaryStream, type PesPacket, TsDemuxer } from "./demuxer.ts";
import { TsMuxer } from "./muxer.ts";
import { STREAM_TYPE, sectionCrc, TS_BYTES, toUs, WRAP } from "./packet.ts";

const STEP_US = 40_000;

/** Pictures of different sizes, up to several packets, with B-frames, and audio. */
function makeUnits(count: number, startUs = 0): AccessUnit[] {
  return Array.from({ length: count }, (_, i) => {
    const dtsUs = startUs + i * STEP_US;
    const picture = Uint8Array.from({ length: 1 + ((i * 157) % 900) }, (_, at) => 1 + ((i + at) % 250));
    const isKey = i % 10 === 0;
    const parts = [...(isKey ? TRACKS.video.sets : []), Uint8Array.of(isKey ? 0x65 : 0x41, ...picture)];
    const video = { kind: "video", dtsUs, ptsUs: dtsUs + (i % 3) * STEP_US, captureMs: 0, isKey, parts } as const;
    const audio = { kind: "audio", dtsUs, ptsUs: dtsUs, captureMs: 0, isKey: true, parts: [picture] } as const;
    return [video, audio];
  }).flat();
}

interface Read {
  readonly packets: PesPacket[];
  readonly streams: ElementaryStream[][];
  readonly demuxer: TsDemuxer;
}

function demux(pieces: Iterable<Uint8Array>, unitBytes = 1e6): Read {
  const packets: PesPacket[] = [];
  const streams: ElementaryStream[][] = [];
  const demuxer = new TsDemuxer({
    unitBytes,
    onStreams(found) {
      streams.push([...found]);
      return found;
    },
    onPacket: (packet) => packets.push({ ...packet, data: Uint8Array.from(packet.data) }),
    now: () => 5,
  });
  for (const piece of pieces) demuxer.push(piece);
  demuxer.flush();
  return { packets, streams, demuxer };
}

const mux = (units: readonly AccessUnit[]): Buffer => {
  const muxer = new TsMuxer(TRACKS);
  return Buffer.concat(units.map((unit) => muxer.write(unit)));
};

/** Bytes of units in a packet: without delimiters and headers. */
const bodyOf = ({ stream, data }: PesPacket): string =>
  stream.type === STREAM_TYPE.h264
    ? splitStartCodes(data)
        .slice(1)
        .map((nal) => Buffer.from(nal).toString("hex"))
        .join()
    : new AdtsReader()
        .push(data)
        .map(({ frame }) => Buffer.from(frame).toString("hex"))
        .join();

test("units pass through the muxer and the demuxer unchanged, in pieces of any size", () => {
  const units = makeUnits(25);
  const bytes = mux(units);
  assert.equal(bytes.length % TS_BYTES, 0);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1 }), (sizes) => {
      const pieces: Uint8Array[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes[i % sizes.length] as number;
        pieces.push(bytes.subarray(at, at + size));
        at += size;
      }
      const { packets, streams, demuxer } = demux(pieces);
      assert.deepEqual(
        streams.map((found) => found.map(({ type }) => type)),
        [[STREAM_TYPE.h264, STREAM_TYPE.adts]],
      );
      const read = (type: number) => packets.filter(({ stream }) => stream.type === type);
      for (const [kind, type] of [
        ["video", STREAM_TYPE.h264],
        ["audio", STREAM_TYPE.adts],
      ] as const) {
        const sent = units.filter((unit) => unit.kind === kind);
        assert.deepEqual(
          read(type).map(bodyOf),
          sent.map(({ parts }) => parts.map((part) => Buffer.from(part).toString("hex")).join()),
        );
        assert.deepEqual(
          read(type).map(({ ptsUs, dtsUs }) => [Math.round((ptsUs ?? 0) - 1e6), Math.round((dtsUs ?? 0) - 1e6)]),
          sent.map(({ ptsUs, dtsUs }) => [ptsUs, dtsUs]),
        );
      }
      assert.equal(demuxer.lost, 0);
    }),
    { numRuns: 20 },
  );
});

test("timestamps continue where their 33 bits wrap", () => {
  const startUs = Math.round(toUs(WRAP)) - 1e6 - 4 * STEP_US;
  const { packets } = demux([mux(makeUnits(12, startUs))]);
  const times = packets.filter(({ stream }) => stream.type === STREAM_TYPE.h264).map(({ dtsUs }) => dtsUs ?? 0);
  for (let i = 1; i < times.length; i++)
    assert.equal(Math.round((times[i] as number) - (times[i - 1] as number)), STEP_US);
});

test("a lost packet drops its picture and marks the next one", () => {
  const muxer = new TsMuxer(TRACKS);
  const video = makeUnits(8).filter(({ kind }) => kind === "video");
  const written = video.map((unit) => muxer.write(unit));
  const large = written.findIndex((bytes, i) => i > 0 && bytes.length > 3 * TS_BYTES);
  const spoilt = written.map((bytes, i) =>
    i === large ? Buffer.concat([bytes.subarray(0, TS_BYTES), bytes.subarray(2 * TS_BYTES)]) : bytes,
  );
  const { packets, demuxer } = demux(spoilt);
  assert.equal(demuxer.lost, 1);
  assert.equal(packets.length, video.length - 1);
  assert.deepEqual(
    packets.map(({ isAfterLoss }) => isAfterLoss),
    packets.map((_, i) => i === large),
  );
});

test("packets that arrive twice count once, and bytes before a packet are skipped", () => {
  const bytes = mux(makeUnits(6));
  const doubled: Buffer[] = [Buffer.from([1, 2, 3])];
  for (let at = 0; at < bytes.length; at += TS_BYTES) {
    const packet = bytes.subarray(at, at + TS_BYTES);
    doubled.push(packet, packet);
  }
  const plain = demux([bytes]).packets.map(bodyOf);
  assert.deepEqual(demux([Buffer.concat(doubled)]).packets.map(bodyOf), plain);
});

test("rejects what is not MPEG-TS, and pictures that are too large", () => {
  assert.throws(() => demux([Buffer.alloc(100_000, 0x30)]), MediaError);
  const parts = [Uint8Array.of(0x65), new Uint8Array(50_000).fill(7)];
  const unit = { kind: "video", dtsUs: 0, ptsUs: 0, captureMs: 0, isKey: true, parts } as const;
  assert.throws(() => demux([mux([unit])], 10_000), /more than 10000 bytes/);
});

test("any change of the bytes is read, or rejected with a MediaError, within bounds", () => {
  const bytes = mux(makeUnits(12));
  const change = fc.record({
    at: fc.nat(bytes.length - 1),
    kind: fc.constantFrom("flip", "cut", "repeat", "fill"),
    value: fc.nat(255),
    length: fc.integer({ min: 1, max: 600 }),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 20 }), (changes) => {
      let spoilt = Buffer.from(bytes);
      for (const { at, kind, value, length } of changes) {
        const begin = at % spoilt.length;
        if (kind === "flip") spoilt[begin] = value;
        else if (kind === "fill") spoilt.fill(value, begin, Math.min(begin + length, spoilt.length));
        else {
          const part =
            kind === "cut"
              ? Buffer.alloc(0)
              : Buffer.concat([spoilt.subarray(begin, begin + length), spoilt.subarray(begin, begin + length)]);
          spoilt = Buffer.concat([spoilt.subarray(0, begin), part, spoilt.subarray(begin + length)]);
        }
        if (spoilt.length === 0) return;
      }
      try {
        const { packets, streams } = demux([spoilt]);
        for (const { data } of packets) assert.ok(data.length <= spoilt.length);
        assert.ok(streams.every((found) => found.length <= 32));
      } catch (error) {
        assert.ok(error instanceof MediaError, String(error));
      }
    }),
    { numRuns: 300 },
  );
});

test("a PMT of several packets is read, and one with a wrong CRC is not", () => {
  const entries = Array.from({ length: 30 }, (_, i) => {
    const descriptor = Buffer.from([5, 4, ...Buffer.from("KLVA")]);
    return Buffer.from([6, 0xe1, i, 0xf0, descriptor.length, ...descriptor]);
  });
  const body = Buffer.concat([Buffer.from([2, 0, 0, 0, 1, 0xc1, 0, 0, 0xe1, 0, 0xf0, 0]), ...entries]);
  const section = Buffer.alloc(body.length + 4);
  body.copy(section);
  section.writeUInt16BE(0xb000 | (section.length - 3), 1);
  section.writeUInt32BE(sectionCrc(section.subarray(0, body.length)), body.length);
  const pack = (payload: Buffer): Buffer => {
    const whole = Buffer.concat([Buffer.of(0), payload]);
    const packets: Buffer[] = [];
    for (let at = 0, i = 0; at < whole.length; at += 184, i++) {
      const packet = Buffer.alloc(TS_BYTES, 0xff);
      Buffer.from([0x47, i === 0 ? 0x50 : 0x10, 0, 0x10 | i]).copy(packet);
      whole.copy(packet, 4, at, at + 184);
      packets.push(packet);
    }
    return Buffer.concat(packets);
  };
  const pat = mux(makeUnits(1)).subarray(0, TS_BYTES);
  const { streams } = demux([pat, pack(section)]);
  assert.deepEqual(
    streams[0]?.map(({ format }) => format),
    Array.from({ length: 30 }, () => "KLVA"),
  );
  section[40] = (section[40] as number) ^ 1;
  assert.deepEqual(demux([pat, pack(section)]).streams, []);
});

test("ADTS frames survive being split anywhere, with garbage in between", () => {
  const { config } = TRACKS.audio ?? assert.fail();
  const frames = Array.from({ length: 10 }, (_, i) => Buffer.alloc(20 + i * 30, i + 1));
  const bytes = Buffer.concat(
    frames.flatMap((frame) => [writeAdtsHeader(config, frame.length), frame, Buffer.of(1, 2)]),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: bytes.length }), (size) => {
      const reader = new AdtsReader();
      const found = [];
      for (let at = 0; at < bytes.length; at += size) found.push(...reader.push(bytes.subarray(at, at + size)));
      assert.deepEqual(
        found.map(({ frame }) => Buffer.from(frame)),
        frames,
      );
      for (const one of found) assert.deepEqual(Buffer.from(one.config), Buffer.from(config));
    }),
  );
});

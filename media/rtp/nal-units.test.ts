import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { collectGarbage } from "../../test/soak/rounds.fixture.ts";
import { MediaError } from "../access-unit.ts";
import type { Codec } from "../codec.ts";
import { CODECS } from "../codecs.ts";
import { type CodedPicture, NalDepayloader, payloadNals } from "./nal-units.ts";
import { joinPayload, payloadLength, type RtpPacket } from "./packet.ts";

/** NAL unit types of a codec, and how its header is written. */
interface Units {
  readonly codec: Codec;
  readonly sets: readonly number[];
  readonly key: number;
  readonly delta: number;
  readonly sei: number;
  header(type: number): number[];
  /** A fragment of a keyframe's slice that does not end. */
  fragment(isFirst: boolean): number[];
}

const ALL: readonly Units[] = [
  {
    ...{ codec: CODECS.h264, sets: [7, 8], key: 5, delta: 1, sei: 6 },
    header: (type) => [0x60 | type],
    fragment: (isFirst) => [0x7c, isFirst ? 0x85 : 0x05, 1],
  },
  {
    ...{ codec: CODECS.h265, sets: [32, 33, 34], key: 19, delta: 1, sei: 39 },
    header: (type) => [type << 1, 1],
    fragment: (isFirst) => [49 << 1, 1, isFirst ? 0x93 : 0x13, 1],
  },
];

const MAX = 100;

const packetsOf = (codec: Codec, pictures: readonly (readonly Uint8Array[])[]): RtpPacket[] => {
  let sequence = 65_530;
  return pictures.flatMap((nals, i) =>
    payloadNals(codec, nals, MAX).map((payload, at, all) => ({
      marker: at === all.length - 1,
      payloadType: 96,
      sequence: sequence++ & 0xffff,
      timestamp: i * 3000,
      ssrc: 1,
      payload: joinPayload(payload),
    })),
  );
};

function depayload(codec: Codec, packets: readonly RtpPacket[], lost: (i: number) => boolean = () => false) {
  const pictures: CodedPicture[] = [];
  const depayloader = new NalDepayloader(codec, 10_000, (picture) => pictures.push(picture));
  let isAfterLoss = false;
  for (const [i, packet] of packets.entries()) {
    if (lost(i)) isAfterLoss = true;
    else {
      depayloader.push(packet, isAfterLoss);
      isAfterLoss = false;
    }
  }
  return { pictures };
}

for (const units of ALL)
  describe(`${units.codec.title} over RTP`, () => {
    const { codec } = units;
    const least = codec.rtp.headerBytes;
    const nal = (type: number, length: number, fill = 1): Uint8Array => {
      const bytes = new Uint8Array(Math.max(length, least)).fill(fill);
      bytes.set(units.header(type));
      return bytes;
    };
    const sets = units.sets.map((type) => nal(type, 12));
    const key = (length: number) => [...sets, nal(units.key, length)];
    const delta = (length: number) => [nal(units.delta, length, 2)];
    const toPackets = (pictures: readonly (readonly Uint8Array[])[]) => packetsOf(codec, pictures);

    const anyNal = fc
      .tuple(
        fc.constantFrom(units.delta, units.key, units.sei, ...units.sets),
        fc.uint8Array({ minLength: least + 1, maxLength: 400 }),
      )
      .map(([type, given]) => {
        // No start code is in a NAL unit.
        const bytes = given.map((byte) => byte || 3);
        bytes.set(units.header(type));
        return bytes;
      });

    test("pictures of any size survive payloading, in packets within the limit", () => {
      const picture = fc
        .tuple(fc.array(anyNal, { maxLength: 4 }), fc.constantFrom(3, 5, 99, 100, 101, 300))
        .map(([nals, n]) => [...nals, nal(units.delta, n)]);
      fc.assert(
        fc.property(fc.array(picture, { minLength: 1, maxLength: 5 }), (pictures) => {
          for (const nals of pictures)
            for (const one of payloadNals(codec, nals, MAX)) assert.ok(payloadLength(one) <= MAX);
          const out = depayload(codec, toPackets(pictures)).pictures;
          assert.deepEqual(
            out.map(({ nals }) => nals.map((one) => Buffer.from(one).toString("hex"))),
            pictures.map((nals) => nals.map((one) => Buffer.from(one).toString("hex"))),
          );
        }),
      );
    });

    test("parameter sets go together in one packet, and large units are not copied", () => {
      const large = nal(units.key, 250);
      const payloads = payloadNals(codec, [...sets, large], MAX);
      assert.equal(codec.rtp.typeOf(payloads[0]?.body ?? assert.fail()), codec.rtp.aggregate);
      assert.equal(payloads.length, 4);
      assert.equal(payloads[1]?.body.buffer, large.buffer);
    });

    test("after a loss, emits nothing before the next keyframe, and never a partial picture", () => {
      const pictures = [key(250), delta(250), delta(50), key(250), delta(250), delta(50), key(90)];
      const packets = toPackets(pictures);
      const keys = [0, 3, 6];
      fc.assert(
        fc.property(fc.integer({ min: 0, max: packets.length - 2 }), (missing) => {
          // Some packet before the loss is needed to know of it.
          if (missing === 0) return;
          const hurt = (packets[missing] as RtpPacket).timestamp / 3000;
          const next = keys.find((at) => at > hurt) ?? pictures.length;
          const out = depayload(codec, packets, (i) => i === missing);
          const expected = pictures.map((_, i) => i).filter((i) => i < hurt || i >= next);
          assert.deepEqual(
            out.pictures.map(({ timestamp }) => timestamp / 3000),
            expected,
          );
          for (const { timestamp, nals } of out.pictures) assert.equal(nals.length, pictures[timestamp / 3000]?.length);
        }),
      );
    });

    test("a picture without a marker ends where the next one starts", () => {
      const packets = toPackets([key(50), delta(50), delta(60)]).map((packet) => ({ ...packet, marker: false }));
      assert.equal(depayload(codec, packets).pictures.length, 2);
    });

    test("a marker on the parameter sets does not end the picture", () => {
      const packets = toPackets([sets.slice(0, 1)]).concat(toPackets([[nal(units.key, 50)]]));
      const [picture] = depayload(codec, packets).pictures;
      assert.equal(picture?.nals.length, 2);
    });

    test("parameter sets with the timestamp of the picture before belong to the next one", () => {
      const packets = toPackets([key(50), delta(50), sets, [nal(units.key, 50)], delta(50)]).map((packet) => ({
        ...packet,
        timestamp: packet.timestamp === 6000 ? 3000 : packet.timestamp,
      }));
      const { pictures } = depayload(codec, packets);
      assert.deepEqual(
        pictures.map(({ nals }) => nals.length),
        [sets.length + 1, 1, sets.length + 1, 1],
      );
    });

    test("splits a byte stream in packets, of one packet and of fragments", () => {
      const code = Uint8Array.of(0, 0, 0, 1);
      const stream = (nals: readonly Uint8Array[]) => Buffer.concat(nals.flatMap((one) => [code, one]));
      for (const bytes of [stream(key(60)), stream(key(250)).subarray(4), stream(key(250)), stream(delta(60))]) {
        const expected = bytes.length < 80 ? delta(60) : key(bytes.length < 200 ? 60 : 250);
        const [picture] = depayload(codec, packetsOf(codec, [[bytes], delta(9)])).pictures;
        assert.deepEqual(
          picture?.nals.map((one) => Buffer.from(one).toString("hex")),
          expected.map((one) => Buffer.from(one).toString("hex")),
        );
      }
    });

    test("an aggregate may end with padding", () => {
      const packets = toPackets([[...sets, nal(units.key, 20)]]);
      assert.equal(packets.length, 1);
      const [packet] = packets as [RtpPacket];
      const padded = { ...packet, payload: Buffer.concat([packet.payload, Buffer.alloc(9)]) };
      assert.equal(depayload(codec, [padded]).pictures[0]?.nals.length, sets.length + 1);
    });

    test("rejects a picture above the limit", () => {
      assert.throws(() => depayload(codec, toPackets([key(10_001)])), MediaError);
    });

    test("of the packets of a picture that does not end only its own bytes are kept", async () => {
      const depayloader = new NalDepayloader(codec, 2 ** 20, () => assert.fail("there is no picture"));
      const sent: WeakRef<ArrayBufferLike>[] = [];
      for (let i = 0; i < 1000; i++) {
        const chunk = new Uint8Array(1000);
        const bytes = units.fragment(i === 0);
        chunk.set(bytes, 500);
        sent.push(new WeakRef(chunk.buffer));
        const payload = chunk.subarray(500, 500 + bytes.length);
        depayloader.push({ marker: false, payloadType: 96, sequence: i, timestamp: 1, ssrc: 1, payload }, false);
      }
      // The target of a weak reference lives until the end of the current task.
      await new Promise((resolve) => setImmediate(resolve));
      collectGarbage();
      assert.ok(sent.filter((buffer) => buffer.deref() !== undefined).length < 10);
    });

    test("truncated aggregates and fragments are no picture", () => {
      const packets = toPackets([key(250), delta(250), key(90)]);
      for (const [i, packet] of packets.entries())
        for (let length = 0; length < packet.payload.length; length += 7) {
          const cut = packets.with(i, { ...packet, payload: packet.payload.subarray(0, length) });
          for (const { nals } of depayload(codec, cut).pictures) assert.ok(nals.length > 0);
        }
    });

    test("any payloads are pictures, ignored, or a `MediaError`", () => {
      const start = fc.constantFrom(
        [],
        units.header(codec.rtp.aggregate),
        units.header(codec.rtp.fragment),
        units.fragment(true),
        units.header(50),
      );
      const packet = fc.record({
        marker: fc.boolean(),
        payloadType: fc.constant(96),
        sequence: fc.integer({ min: 0, max: 0xffff }),
        timestamp: fc.integer({ min: 0, max: 5 }),
        ssrc: fc.constant(1),
        payload: fc
          .tuple(start, fc.uint8Array({ maxLength: 30 }))
          .map(([first, rest]) => Uint8Array.from([...first, ...rest])),
      });
      fc.assert(
        fc.property(fc.array(fc.tuple(packet, fc.boolean()), { maxLength: 30 }), (packets) => {
          const depayloader = new NalDepayloader(codec, 200, ({ nals }) => assert.ok(nals.length > 0));
          try {
            for (const [one, isAfterLoss] of packets) depayloader.push(one, isAfterLoss);
          } catch (error) {
            assert.ok(error instanceof MediaError);
          }
        }),
        { numRuns: 1000 },
      );
    });
  });

test("H.265: pictures that refer to some before the keyframe are dropped after a loss, and only then", () => {
  const nal = (type: number, temporal = 1): Uint8Array => Uint8Array.of(type << 1, temporal, 7, 7);
  // A keyframe is known to be whole by the parameter sets before it.
  const cra = [nal(32), nal(21)];
  const [rasl, radl, trail] = [8, 7, 1].map((type) => [nal(type)]);
  assert.ok(rasl && radl && trail);
  const pictures = [cra, rasl, trail, cra, rasl, radl, trail, cra, rasl, trail];
  const packets = packetsOf(CODECS.h265, pictures);
  const shown = (lost: number) =>
    depayload(CODECS.h265, packets, (i) => i === lost).pictures.map(({ timestamp }) => timestamp / 3000);
  assert.deepEqual(shown(-1), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(shown(2), [0, 1, 3, 5, 6, 7, 8, 9]);
  assert.deepEqual(shown(3), [0, 1, 2, 7, 9]);
});

test("H.265: the header of an aggregate has the lowest layer and temporal id, and the F bit of any", () => {
  const { writeAggregateHeader } = CODECS.h265.rtp;
  assert.deepEqual([...writeAggregateHeader([Uint8Array.of(0x02, 0x03), Uint8Array.of(0x82, 0x0a)])], [0xe0, 0x02]);
  assert.deepEqual([...writeAggregateHeader([Uint8Array.of(0x03, 0x09), Uint8Array.of(0x03, 0x11)])], [0x61, 0x09]);
});

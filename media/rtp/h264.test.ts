import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { collectGarbage } from "../../test/soak/rounds.fixture.ts";
import { MediaError } from "../access-unit.ts";
import { type CodedPicture, H264Depayloader, payloadH264 } from "./h264.ts";
import { joinPayload, payloadLength, type RtpPacket } from "./packet.ts";

const nal = (type: number, length: number, fill = 1): Uint8Array => {
  const bytes = new Uint8Array(length).fill(fill);
  bytes[0] = 0x60 | type;
  return bytes;
};
const SPS = nal(7, 20);
const PPS = nal(8, 6);
const key = (length: number) => [SPS, PPS, nal(5, length)];
const delta = (length: number) => [nal(1, length, 2)];

const MAX = 100;
const toPackets = (pictures: readonly (readonly Uint8Array[])[]): RtpPacket[] => {
  let sequence = 65_530;
  return pictures.flatMap((nals, i) =>
    payloadH264(nals, MAX).map((payload, at, all) => ({
      marker: at === all.length - 1,
      payloadType: 96,
      sequence: sequence++ & 0xffff,
      timestamp: i * 3000,
      ssrc: 1,
      payload: joinPayload(payload),
    })),
  );
};

function depayload(packets: readonly RtpPacket[], lost: (i: number) => boolean = () => false) {
  const pictures: CodedPicture[] = [];
  const depayloader = new H264Depayloader(10_000, (picture) => pictures.push(picture));
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

const anyNal = fc
  .tuple(fc.constantFrom(1, 5, 6, 7, 8), fc.uint8Array({ minLength: 1, maxLength: 400 }))
  .map(([type, bytes]) => {
    bytes[0] = 0x60 | type;
    return bytes;
  });

test("pictures of any size survive payloading, in packets within the limit", () => {
  const picture = fc
    .tuple(fc.array(anyNal, { maxLength: 4 }), fc.constantFrom(1, 5, 99, 100, 101, 300))
    .map(([nals, n]) => [...nals, nal(1, n)]);
  fc.assert(
    fc.property(fc.array(picture, { minLength: 1, maxLength: 5 }), (pictures) => {
      for (const nals of pictures) for (const one of payloadH264(nals, MAX)) assert.ok(payloadLength(one) <= MAX);
      const out = depayload(toPackets(pictures)).pictures;
      assert.deepEqual(
        out.map(({ nals }) => nals.map((one) => Buffer.from(one).toString("hex"))),
        pictures.map((nals) => nals.map((one) => Buffer.from(one).toString("hex"))),
      );
    }),
  );
});

test("parameter sets go together in one packet, and large units are not copied", () => {
  const large = nal(5, 250);
  const payloads = payloadH264([SPS, PPS, large], MAX);
  assert.equal((payloads[0]?.body[0] ?? 0) & 0x1f, 24);
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
      const out = depayload(packets, (i) => i === missing);
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
  assert.equal(depayload(packets).pictures.length, 2);
});

test("a marker on the parameter sets does not end the picture", () => {
  const packets = toPackets([[SPS]]).concat(toPackets([[nal(5, 50)]]));
  const [picture] = depayload(packets).pictures;
  assert.equal(picture?.nals.length, 2);
});

test("rejects a picture above the limit", () => {
  assert.throws(() => depayload(toPackets([key(10_001)])), MediaError);
});

test("of the packets of a picture that does not end only its own bytes are kept", async () => {
  const depayloader = new H264Depayloader(2 ** 20, () => assert.fail("there is no picture"));
  const sent: WeakRef<ArrayBufferLike>[] = [];
  for (let i = 0; i < 1000; i++) {
    const chunk = new Uint8Array(1000);
    chunk.set([0x7c, i === 0 ? 0x85 : 0x05, 1], 500);
    sent.push(new WeakRef(chunk.buffer));
    const payload = chunk.subarray(500, 503);
    depayloader.push({ marker: false, payloadType: 96, sequence: i, timestamp: 1, ssrc: 1, payload }, false);
  }
  // The target of a weak reference lives until the end of the current task.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  assert.ok(sent.filter((buffer) => buffer.deref() !== undefined).length < 10);
});

test("any payloads are pictures, ignored, or a `MediaError`", () => {
  const packet = fc.record({
    marker: fc.boolean(),
    payloadType: fc.constant(96),
    sequence: fc.integer({ min: 0, max: 0xffff }),
    timestamp: fc.integer({ min: 0, max: 5 }),
    ssrc: fc.constant(1),
    payload: fc.uint8Array({ maxLength: 30 }),
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(packet, fc.boolean()), { maxLength: 30 }), (packets) => {
      const depayloader = new H264Depayloader(200, ({ nals }) => assert.ok(nals.length > 0));
      try {
        for (const [one, isAfterLoss] of packets) depayloader.push(one, isAfterLoss);
      } catch (error) {
        assert.ok(error instanceof MediaError);
      }
    }),
  );
});

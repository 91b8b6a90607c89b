import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { collectGarbage } from "../../test/soak/rounds.fixture.ts";
import { AAC_FRAME_BYTES, AacDepayloader, type CodedFrame, payloadAac } from "./aac.ts";
import { joinPayload, payloadLength } from "./packet.ts";

const LAYOUT = { sizeBits: 13, indexBits: 3, frameTicks: 1024 };
const packet = (payload: Uint8Array, timestamp: number) => ({
  marker: true,
  payloadType: 97,
  sequence: 0,
  timestamp,
  ssrc: 1,
  payload,
});

function depayload(payloads: readonly [Uint8Array, number, boolean][]): CodedFrame[] {
  const frames: CodedFrame[] = [];
  const depayloader = new AacDepayloader(LAYOUT, (frame) => frames.push(frame));
  for (const [payload, timestamp, isAfterLoss] of payloads) depayloader.push(packet(payload, timestamp), isAfterLoss);
  return frames;
}

test("frames of any size survive payloading", () => {
  const frames = fc.array(fc.uint8Array({ minLength: 1, maxLength: 500 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(frames, (given) => {
      const payloads = given.flatMap((frame, i) =>
        payloadAac(frame, 200).map((payload): [Uint8Array, number, boolean] => {
          assert.ok(payloadLength(payload) <= 200);
          return [joinPayload(payload), i * 1024, false];
        }),
      );
      assert.deepEqual(
        depayload(payloads).map(({ frame }) => Buffer.from(frame)),
        given.map((frame) => Buffer.from(frame)),
      );
    }),
  );
});

test("several frames in one packet follow one another in time", () => {
  const payload = Buffer.from([0, 32, 0, 2 << 3, 0, 1 << 3, 0xaa, 0xbb, 0xcc]);
  assert.deepEqual(
    depayload([[payload, 5000, false]]).map(({ timestamp, frame }) => [timestamp, ...frame]),
    [
      [5000, 0xaa, 0xbb],
      [6024, 0xcc],
    ],
  );
});

test("drops a frame with a lost packet, and only that one", () => {
  const [a, b, c] = payloadAac(new Uint8Array(500), 200).map(joinPayload);
  const [next] = payloadAac(Uint8Array.of(1, 2), 200).map(joinPayload);
  assert.ok(a && b && c && next);
  const frames = depayload([
    [a, 0, false],
    [c, 0, true],
    [next, 1024, false],
  ]);
  assert.deepEqual(
    frames.map(({ frame }) => [...frame]),
    [[1, 2]],
  );
});

test("does not send a frame above the size limit of the format", () => {
  assert.deepEqual(payloadAac(new Uint8Array(AAC_FRAME_BYTES + 1), 200), []);
});

test("does not buffer packets that announce a frame without data", async () => {
  const depayloader = new AacDepayloader(LAYOUT, () => assert.fail("there is no frame"));
  const sent: WeakRef<ArrayBufferLike>[] = [];
  for (let i = 0; i < 1000; i++) {
    const payload = new Uint8Array([0, 16, (100 << 3) >> 8, (100 << 3) & 0xff]);
    sent.push(new WeakRef(payload.buffer));
    depayloader.push(packet(payload, 5), false);
  }
  // The target of a weak reference lives until the end of the current task.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  assert.ok(sent.filter((buffer) => buffer.deref() !== undefined).length < 10);
});

test("any payloads are frames or ignored", () => {
  const one = fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.nat(10), fc.boolean());
  fc.assert(
    fc.property(fc.array(one), (payloads) => {
      for (const { frame } of depayload(payloads)) assert.ok(frame.length > 0);
    }),
  );
});

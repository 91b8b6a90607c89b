import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MediaError } from "../access-unit.ts";
import { ChunkReader, writeChunks } from "./chunks.ts";
import { MESSAGE, type Message, makeControl, type OutgoingMessage } from "./message.ts";

const LIMITS = { chunkStreams: 8, commandBytes: 4096, mediaBytes: 200_000 };

function openReader(limits = LIMITS): ChunkReader {
  const reader = new ChunkReader(limits);
  reader.readsMedia = true;
  return reader;
}

/** The memory of an input is overwritten after it was read. */
function readAll(reader: ChunkReader, ...inputs: readonly Uint8Array[]): Message[] {
  const messages: Message[] = [];
  for (const input of inputs) {
    const memory = Buffer.from(input);
    reader.push(memory);
    for (let message = reader.next(); message !== null; message = reader.next()) messages.push(message);
    reader.keepRest();
    memory.fill(0xee);
  }
  return messages;
}

const video = (timestamp: number, body: Uint8Array, chunkStream = 6): OutgoingMessage => ({
  ...{ chunkStream, type: MESSAGE.video, streamId: 1, timestamp, body },
});
const chunk = (message: OutgoingMessage, size?: number): Buffer => Buffer.concat(writeChunks(message, size));
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");
const times = (messages: readonly Message[]): number[] => messages.map(({ timestamp }) => timestamp);

test("reads written messages in any chunking and fragmentation", () => {
  const message = fc.record({
    chunkStream: fc.integer({ min: 3, max: 9 }),
    type: fc.constantFrom(MESSAGE.video, MESSAGE.audio, MESSAGE.command),
    streamId: fc.nat(5),
    timestamp: fc.oneof(fc.nat(2000), fc.integer({ min: 0xff_fffe, max: 0xffff_ffff })),
    body: fc.uint8Array({ maxLength: 3000 }),
  });
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 6 }),
      fc.integer({ min: 128, max: 4000 }),
      fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1 }),
      (messages, chunkSize, steps) => {
        const bytes = Buffer.concat([
          chunk(makeControl(MESSAGE.setChunkSize, chunkSize)),
          ...messages.map((one) => chunk(one, chunkSize)),
        ]);
        const inputs: Buffer[] = [];
        for (let at = 0, i = 0; at < bytes.length; i += 1) {
          const step = steps[i % steps.length] ?? 1;
          inputs.push(bytes.subarray(at, at + step));
          at += step;
        }
        const plain = ({ type, streamId, timestamp, body }: Message | OutgoingMessage) => [
          ...[type, streamId, timestamp],
          Buffer.from(body).toString("hex"),
        ];
        assert.deepEqual(readAll(openReader(), ...inputs).map(plain), messages.map(plain));
      },
    ),
  );
});

test("reads interleaved chunk streams", () => {
  const [first, second] = [Buffer.alloc(200, 1), Buffer.alloc(200, 2)];
  const [a, b] = [chunk(video(1, first, 6)), chunk(video(2, second, 7))];
  const bytes = [a.subarray(0, 140), b.subarray(0, 140), a.subarray(140), b.subarray(140)];
  assert.deepEqual(
    readAll(openReader(), ...bytes).map(({ body }) => body),
    [first, second],
  );
});

test("compressed headers refer to the previous header", () => {
  const reader = openReader();
  const full = hex("06 000064 000001 09 01000000 aa");
  const withDelta = hex("46 000028 000001 09 bb");
  const onlyDelta = hex("86 00000a cc");
  const nothing = hex("c6 dd");
  const messages = readAll(reader, full, withDelta, onlyDelta, nothing, nothing);
  assert.deepEqual(times(messages), [100, 140, 150, 160, 170]);
  assert.deepEqual(
    messages.map(({ type, streamId, body }) => [type, streamId, body.toString("hex")]),
    ["aa", "bb", "cc", "dd", "dd"].map((body) => [9, 1, body]),
  );
});

test("times wrap after 32 bits, and may go back", () => {
  const start = hex("06 ffffff 000001 09 01000000 fffffff0 aa");
  const forward = hex("86 000028 bb");
  const back = hex("86 ffffff ffffffec cc");
  assert.deepEqual(times(readAll(openReader(), start, forward, back)), [0xffff_fff0, 0x18, 4]);
});

test("accepts continuation chunks without the extended time", () => {
  const body = Buffer.alloc(300, 7);
  const whole = chunk(video(0x0100_0000, body));
  // 16 bytes of header and 128 of body, then 1 + 4 and 128, then 1 + 4 and the rest.
  const without = Buffer.concat([whole.subarray(0, 145), whole.subarray(149, 278), whole.subarray(282)]);
  for (const bytes of [whole, without]) {
    const [message] = readAll(openReader(), bytes);
    assert.deepEqual([message?.timestamp, message?.body], [0x0100_0000, body]);
  }
});

test("an aborted message is forgotten", () => {
  const reader = openReader();
  const whole = chunk(video(1, Buffer.alloc(200, 1)));
  const next = video(2, Buffer.from([5]));
  const messages = readAll(reader, whole.subarray(0, 140), chunk(makeControl(MESSAGE.abort, 6)), chunk(next));
  assert.deepEqual(times(messages), [2]);
});

test("skips video and audio until requested, and unknown types always", () => {
  const reader = new ChunkReader(LIMITS);
  const big = video(1, Buffer.alloc(2 ** 20, 1));
  const data = { ...video(1, Buffer.alloc(2 ** 20)), type: MESSAGE.data };
  const command = { ...video(3, Buffer.from([1])), type: MESSAGE.command };
  assert.deepEqual(times(readAll(reader, chunk(big), chunk(data), chunk(command))), [3]);
  reader.readsMedia = true;
  assert.deepEqual(times(readAll(reader, chunk(data), chunk(video(4, Buffer.from([1]))))), [4]);
});

test("rejects messages above the limits when they are announced", () => {
  const refused: [RegExp, ...Uint8Array[]][] = [
    [/200001 bytes; at most 200000 are allowed/, chunk(video(0, Buffer.alloc(200_001))).subarray(0, 12)],
    [/4097 bytes; at most 4096 are allowed/, chunk({ ...video(0, Buffer.alloc(4097)), type: MESSAGE.command })],
    [
      /type 4 with 65 bytes; at most 64 are allowed/,
      chunk({ ...video(0, Buffer.alloc(65)), type: MESSAGE.userControl }),
    ],
    [/received chunk size 127/, chunk(makeControl(MESSAGE.setChunkSize, 127))],
    [/received chunk size 4294967295/, chunk(makeControl(MESSAGE.setChunkSize, 0xffff_ffff))],
    [
      /expected 4 bytes in a message of type 1, received 1/,
      chunk({ ...video(0, Buffer.alloc(1)), type: MESSAGE.setChunkSize }),
    ],
    [/refers to an earlier one/, hex("c6 00")],
    [
      /starts before the previous one/,
      chunk(video(0, Buffer.alloc(200))).subarray(0, 140),
      chunk(video(0, Buffer.alloc(1))),
    ],
    [/more than 8 chunk streams/, ...Array.from({ length: 9 }, (_, i) => chunk(video(0, Buffer.alloc(1), 3 + i)))],
  ];
  for (const [expected, ...inputs] of refused) {
    assert.throws(
      () => readAll(openReader(), ...inputs),
      (error) => error instanceof MediaError && expected.test(error.message),
      String(expected),
    );
  }
});

/** The header of a message and its first chunk. */
function beginMessage(id: number, length: number): Buffer {
  const bytes = Buffer.alloc(12 + 128);
  bytes[0] = id;
  bytes.writeUIntBE(length, 4, 3);
  bytes[7] = MESSAGE.video;
  return bytes;
}

test("limits the memory of incomplete messages, each and in total", () => {
  const mediaBytes = 8 * 2 ** 20;
  const limits = { chunkStreams: 64, commandBytes: 4096, mediaBytes };
  const begun = Array.from({ length: 60 }, (_, i) => beginMessage(3 + i, mediaBytes));
  const before = process.memoryUsage().arrayBuffers;
  readAll(openReader(limits), ...begun);
  assert.ok(process.memoryUsage().arrayBuffers - before < mediaBytes, "480 MB were claimed, 7.5 kB came");

  const small = openReader({ ...limits, mediaBytes: 100_000, commandBytes: 0 });
  assert.throws(() => readAll(small, ...[3, 4, 5, 6].map((id) => beginMessage(id, 100_000))), /in incomplete messages/);
});

test("any bytes are read or a `MediaError`", () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc.array(fc.constantFrom(0, 2, 3, 6, 0x46, 0x86, 0xc6, 0xff, 1, 9, 20), { maxLength: 400 }),
  );
  fc.assert(
    fc.property(bytes, (input) => {
      try {
        readAll(openReader(), Buffer.from(input));
      } catch (error) {
        assert.ok(error instanceof MediaError, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

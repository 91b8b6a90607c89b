import assert from "node:assert/strict";
import { test } from "node:test";
import { EventReader } from "./read-events.ts";
import { PartReader } from "./read-parts.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** In pieces of every size, as networks do. */
function* cut(bytes: Uint8Array): Generator<readonly Uint8Array[]> {
  for (const size of [1, 2, 3, 7, 50, bytes.length]) {
    const pieces: Uint8Array[] = [];
    for (let i = 0; i < bytes.length; i += size) pieces.push(bytes.slice(i, i + size));
    yield pieces;
  }
}

test("pictures are read whole, however they come, boundaries within them included", () => {
  const part = (time: string, body: string) =>
    `--frame\r\nContent-Type: image/jpeg\r\nContent-Length: ${body.length}\r\nX-Timestamp: ${time}\r\n\r\n${body}\r\n`;
  const bytes = encode(part("T1", "one\r\n\r\n--frame") + part("T2", "two") + part("T3", "3").slice(0, -3));
  for (const pieces of cut(bytes)) {
    const reader = new PartReader();
    const pictures = pieces.flatMap((piece) => reader.read(piece));
    assert.deepEqual(
      pictures.map(({ timestamp, jpeg }) => [timestamp, new TextDecoder().decode(jpeg)]),
      [
        ["T1", "one\r\n\r\n--frame"],
        ["T2", "two"],
      ],
    );
  }
});

test("what is no feed is not kept", () => {
  assert.throws(() => new PartReader().read(new Uint8Array(10_000)), /a part without a head/);
  assert.throws(
    () => new PartReader().read(encode("--frame\r\nContent-Length: 99999999999\r\n\r\n")),
    /without a length/,
  );
});

test("events are read whole, however they come; comments and names are kept apart", () => {
  const bytes = encode(
    ': hello\n\nevent: stats\ndata: {"é":1}\n\nid: 4\nevent: state\ndata: one\ndata: two\n\nevent: late\n',
  );
  for (const pieces of cut(bytes)) {
    const reader = new EventReader();
    assert.deepEqual(
      pieces.flatMap((piece) => reader.read(piece)),
      [
        { event: "stats", data: '{"é":1}' },
        { event: "state", data: "one\ntwo" },
      ],
    );
  }
});

/** Frames that violate RFC 6455: each closes the connection of its sender, and affects no other client. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import type { StagedProcess } from "./staged-processes.fixture.ts";
import { eventually, Listener, openStage, type Stage } from "./streams.fixture.ts";

const [TEXT, BINARY, CLOSE, PING] = [1, 2, 8, 9];
const FIN = 0x80;

interface FrameParts {
  readonly first: number;
  readonly payload?: Uint8Array;
  /** What the frame says its length is: the byte of the length, and what follows it. */
  readonly length?: readonly number[];
  readonly isMasked?: boolean;
}

function frame({ first, payload = new Uint8Array(), length, isMasked = true }: FrameParts): Buffer {
  const [count = 0, ...more] = length ?? lengthOf(payload.length);
  const mask = isMasked ? [0, 0, 0, 0] : [];
  return Buffer.concat([Buffer.from([first, count | (isMasked ? 0x80 : 0), ...more, ...mask]), payload]);
}

const lengthOf = (bytes: number): readonly number[] => (bytes < 126 ? [bytes] : [126, bytes >> 8, bytes & 0xff]);

const words = (text: string) => Buffer.from(text);
const BROKEN: readonly (readonly [what: string, bytes: Buffer, code: number])[] = [
  ["a reserved bit", frame({ first: FIN | 0x40 | TEXT, payload: words("{}") }), 1002],
  ["another reserved bit", frame({ first: FIN | 0x10 | TEXT, payload: words("{}") }), 1002],
  ...[3, 7, 0xb, 0xf].map((code) => [`the reserved opcode ${code}`, frame({ first: FIN | code }), 1002] as const),
  ["no mask", frame({ first: FIN | TEXT, payload: words("{}"), isMasked: false }), 1002],
  ["a ping in pieces", frame({ first: PING }), 1002],
  ["a ping of 126 bytes", frame({ first: FIN | PING, payload: Buffer.alloc(126) }), 1002],
  ["a continuation of nothing", frame({ first: FIN, payload: words("x") }), 1002],
  [
    "a message within a message",
    Buffer.concat([frame({ first: TEXT, payload: words("a") }), frame({ first: FIN | TEXT, payload: words("b") })]),
    1002,
  ],
  ["a text that is not UTF-8", frame({ first: FIN | TEXT, payload: Buffer.from([0xc0, 0x80]) }), 1007],
  ["a close of one byte", frame({ first: FIN | CLOSE, payload: Buffer.from([3]) }), 1002],
  ["a close with a reserved code", frame({ first: FIN | CLOSE, payload: Buffer.from([0x03, 0xed]) }), 1002],
  ["a close whose reason is not UTF-8", frame({ first: FIN | CLOSE, payload: Buffer.from([0x03, 0xe8, 0xff]) }), 1007],
  ["a length of 4 GB", frame({ first: FIN | BINARY, length: [127, 0, 0, 0, 1, 0, 0, 0, 0] }), 1009],
  ["a length below zero", frame({ first: FIN | BINARY, length: [127, ...Array(8).fill(0xff)] }), 1009],
  [
    "a message of pieces that is too large",
    Buffer.concat(
      Array.from({ length: 40 }, (_, i) => frame({ first: i === 0 ? TEXT : 0, payload: Buffer.alloc(2000, 97) })),
    ),
    1009,
  ],
];

let stage: Stage;
let process: StagedProcess;
let listener: Listener;
before(async () => {
  stage = await openStage();
  process = stage.start();
  listener = await Listener.open(stage, process, "detection_data");
});
after(async () => {
  await listener.close();
  await stage.close();
});

async function join(channel: string): Promise<Socket> {
  const socket = connect(stage.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    [
      ...[`GET /process/${process.uuid}/${channel}?api_key=ada HTTP/1.1`, "Host: a", "Connection: Upgrade"],
      ...[
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        `Sec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}`,
      ],
      ...["", ""],
    ].join("\r\n"),
  );
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 101 /);
  return socket;
}

/** The code of the close frame that ends it. */
async function closeOf(socket: Socket): Promise<number | null> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  if (!socket.closed) await once(socket, "close");
  const bytes = Buffer.concat(chunks);
  const at = bytes.lastIndexOf(FIN | CLOSE);
  return at < 0 || bytes.length < at + 4 ? null : bytes.readUInt16BE(at + 2);
}

async function expectUnharmed(): Promise<void> {
  const { length } = listener.messages;
  process.detect();
  await listener.expect(length + 1);
}

for (const [what, bytes, code] of BROKEN)
  test(`${what}: closed with ${code}`, { timeout: 30_000 }, async () => {
    const socket = await join("telemetry");
    const closed = closeOf(socket);
    socket.write(bytes);
    assert.equal(await closed, code);
    await expectUnharmed();
  });

for (const [what, bytes] of [
  ["pings", frame({ first: FIN | PING, payload: Buffer.alloc(125) })],
  ["empty messages", frame({ first: FIN | TEXT })],
  ["empty pieces", frame({ first: 0 })],
] as const)
  test(`50,000 ${what} affect no other client`, { timeout: 60_000 }, async () => {
    const socket = await join("telemetry");
    socket.resume();
    if (what === "empty pieces") socket.write(frame({ first: TEXT }));
    socket.write(Buffer.concat(Array(50_000).fill(bytes)));
    for (let i = 0; i < 5; i++) await expectUnharmed();
    socket.destroy();
    await eventually(() => process.followers.size === 1, "it is gone");
  });

import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { playerSession, publisherSession, spoiling } from "./fuzz.fixture.ts";
import { KEY, openServer } from "./rtsp.fixture.ts";
import { FakeCamera, Talk, until } from "./talk.fixture.ts";

const RUNS = 300;

/** Says it piece by piece, each when the one before was answered or a moment has passed, and tells all that came back. */
async function converse(port: number, pieces: readonly Buffer[]): Promise<Buffer> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  let isClosed = false;
  let wake: () => void = () => {};
  socket.on("data", (chunk) => {
    chunks.push(chunk);
    wake();
  });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      isClosed = true;
      wake();
      resolve();
    });
  });
  let session = "none";
  for (const piece of pieces) {
    if (isClosed) break;
    const answered = new Promise<void>((resolve) => {
      wake = resolve;
      setTimeout(resolve, 5);
    });
    socket.write(Buffer.from(piece.toString("latin1").replace("SESSION", session), "latin1"));
    await answered;
    session = /\r\nSession: ([0-9a-f]+)/.exec(Buffer.concat(chunks).toString("latin1"))?.[1] ?? session;
  }
  socket.end();
  setTimeout(() => socket.destroy(), 20);
  await closed;
  return Buffer.concat(chunks);
}

test("no spoilt session brings the server down, leaves anything behind, or gets a packet without a key", async () => {
  const server = await openServer({ publishers: 200, helloMs: 60_000 });
  const camera = await FakeCamera.open(server.url("owner/live"));
  const shooting = setInterval(() => camera.shoot(3000), 10);
  try {
    await until(() => server.streams.tracks("owner/live") !== null);
    let delivered = 0;
    let wrong = 0;
    const kind = fc.constantFrom("publish", "play", "steal");
    await fc.assert(
      fc.asyncProperty(kind, spoiling, fc.nat(50), async (what, spoil, i) => {
        const live = server.url("owner/live", null);
        const session =
          what === "publish"
            ? publisherSession(server.url(`owner/fuzz-${i}`, null), KEY)
            : playerSession(live, what === "play" ? KEY : "wrong");
        const answer = await converse(server.port, spoil(session));
        const packets = answer.indexOf(Buffer.from([0x24, 0, 0])) !== -1;
        if (what === "play" && packets) delivered++;
        if (what === "steal" && packets) wrong++;
      }),
      { numRuns: RUNS },
    );
    assert.equal(wrong, 0);
    assert.ok(delivered > 10, `only ${delivered} sessions got as far as packets`);
    assert.deepEqual(server.faults, []);
    await until(() => server.connections.count === 1);
    await until(() => server.streams.list().every(({ path, readers }) => path === "owner/live" && readers === 0));
    assert.equal(await (await Talk.open(server.port)).say("OPTIONS", "*"), "200 OK");
  } finally {
    clearInterval(shooting);
    await camera.publisher.close();
    await server.close();
  }
});

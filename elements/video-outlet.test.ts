import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import type { Publisher } from "../media/publisher.ts";
import { Watch } from "../test/watch.fixture.ts";
import { VideoOutlet } from "./video-outlet.ts";

const video = { codec: "h264", sets: [], width: 64, height: 48, reorders: false } as const;
const small: Tracks = { video: { ...video, width: 64 }, audio: null };
const large: Tracks = { video: { ...video, width: 128 }, audio: null };

const unit = (index: number, isKey = false, bytes = 10): AccessUnit => ({
  ...{ kind: "video", dtsUs: index, ptsUs: index, captureMs: 0, isKey },
  parts: [new Uint8Array(bytes)],
});
const key = (index: number, bytes = 10): AccessUnit => unit(index, true, bytes);

/** A server whose responses the test controls. */
class Server {
  readonly outlet: VideoOutlet;
  readonly statuses: (readonly [string, string | null])[] = [];
  readonly attempts: Attempt[] = [];
  readonly watch = new Watch();

  constructor(limits: ConstructorParameters<typeof VideoOutlet>[2] = {}) {
    const waits = { firstWaitMs: 1, maxWaitMs: 4 };
    this.outlet = new VideoOutlet(
      (tracks, signal) => {
        const attempt = new Attempt(tracks, signal);
        this.attempts.push(attempt);
        this.watch.check();
        return attempt.opened;
      },
      () => this.statuses.push([this.outlet.status, this.outlet.detail]),
      { ...waits, ...limits },
    );
  }

  async attempt(number: number): Promise<Attempt> {
    await this.watch.until(`attempt ${number}`, () => this.attempts.length > number);
    return this.attempts[number] ?? assert.fail();
  }

  get counts(): readonly [sent: number, dropped: number] {
    return [this.outlet.framesSent, this.outlet.framesDropped];
  }
}

class Attempt implements Publisher {
  readonly tracks: Tracks;
  readonly opened: Promise<Publisher>;
  readonly closed: Promise<string>;
  readonly taken: number[] = [];
  isTaking = true;
  /** Never closes gracefully. */
  isFrozen = false;
  isGone = false;
  #settle: (error: Error | null) => void = () => {};
  lose: (reason: string) => void = () => {};

  constructor(tracks: Tracks, signal: AbortSignal) {
    this.tracks = tracks;
    this.opened = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === null ? resolve(this) : reject(error));
    });
    const giveUp = (): void => {
      this.#settle(new Error("given up"));
      this.lose("given up");
    };
    this.closed = new Promise((resolve) => {
      this.lose = (reason) => {
        this.isGone = true;
        signal.removeEventListener("abort", giveUp);
        resolve(reason);
      };
    });
    signal.addEventListener("abort", giveUp);
  }

  async accept(): Promise<void> {
    this.#settle(null);
    await turn();
  }

  async refuse(reason: string): Promise<void> {
    this.#settle(new Error(reason));
    await turn();
  }

  send({ ptsUs }: AccessUnit): boolean {
    if (this.isTaking) this.taken.push(ptsUs);
    return this.isTaking;
  }

  async close(): Promise<void> {
    if (!this.isFrozen) this.lose("closed");
    await this.closed;
  }
}

test("sends the video buffered while connecting, from the last keyframe on", async () => {
  const server = new Server();
  const { outlet } = server;
  for (const each of [unit(0), key(1), unit(2), key(3), unit(4)]) outlet.send(each, small);
  assert.deepEqual([outlet.status, server.statuses], ["starting", []]);
  const attempt = await server.attempt(0);
  await attempt.accept();
  outlet.send(unit(5), small);
  assert.deepEqual(attempt.taken, [3, 4, 5]);
  assert.deepEqual(server.statuses, [["live", null]]);
  assert.deepEqual(server.counts, [3, 3]);
  await outlet.close();
  assert.equal(attempt.isGone, true);
});

test("retries until the server accepts", async () => {
  const server = new Server();
  server.outlet.send(key(0), small);
  await (await server.attempt(0)).refuse("no");
  assert.deepEqual(server.statuses, [["retrying", "no"]]);
  await (await server.attempt(1)).refuse("no");
  await (await server.attempt(2)).refuse("still no");
  const attempt = await server.attempt(3);
  await attempt.accept();
  assert.deepEqual(server.statuses, [
    ["retrying", "no"],
    ["retrying", "still no"],
    ["live", null],
  ]);
  assert.deepEqual(attempt.taken, [0]);
  await server.outlet.close();
});

test("reconnects after a loss, starting with a keyframe", async () => {
  const server = new Server();
  const { outlet } = server;
  outlet.send(key(0), small);
  const first = await server.attempt(0);
  await first.accept();
  first.lose("the connection was reset");
  await turn();
  assert.deepEqual([outlet.status, outlet.detail], ["retrying", "the connection was reset"]);
  for (const each of [unit(1), key(2), unit(3)]) outlet.send(each, small);
  const second = await server.attempt(1);
  await second.accept();
  assert.deepEqual(second.taken, [2, 3]);
  assert.deepEqual(server.counts, [3, 1]);
  await outlet.close();
});

test("does not connect while there is no video", async () => {
  const server = new Server();
  server.outlet.send(key(0), small);
  const first = await server.attempt(0);
  await first.accept();
  first.lose("no picture came");
  // Longer than the retry delay.
  await new Promise((resolve) => setTimeout(resolve, 40));
  assert.equal(server.attempts.length, 1);
  server.outlet.send(unit(1), small);
  assert.equal(server.attempts.length, 1);
  server.outlet.send(key(2), small);
  await (await server.attempt(1)).accept();
  assert.equal(server.outlet.status, "live");
  await server.outlet.close();
});

test("backs off when the server accepts and closes at once", async () => {
  const waits: number[] = [];
  const server = new Server({ firstWaitMs: 8, maxWaitMs: 64 });
  let lostMs = 0;
  for (let index = 0; index < 5; index++) {
    server.outlet.send(key(index), small);
    const attempt = await server.attempt(index);
    waits.push(performance.now() - lostMs);
    await attempt.accept();
    lostMs = performance.now();
    attempt.lose("no");
    await turn();
  }
  // 8, 16, 32 and 64 ms, each a quarter more or less.
  for (const [index, least] of [6, 12, 24, 48].entries()) assert.ok((waits[index + 1] ?? 0) >= least - 1, `${waits}`);
  await server.outlet.close();
});

test("reconnects without backoff after a steady connection", async () => {
  const server = new Server({ firstWaitMs: 1, maxWaitMs: 1e6, steadyMs: 0 });
  for (let index = 0; index < 30; index++) {
    server.outlet.send(key(index), small);
    const attempt = await server.attempt(index);
    await attempt.accept();
    attempt.lose("no");
    await turn();
  }
  await server.outlet.close();
});

test("new codec parameters open a new session, after the old one is closed", async () => {
  const server = new Server();
  const { outlet } = server;
  outlet.send(key(0), small);
  const first = await server.attempt(0);
  await first.accept();
  first.isFrozen = true;
  outlet.send(key(1), large);
  outlet.send(unit(2), large);
  await turn();
  assert.deepEqual([server.attempts.length, outlet.status], [1, "starting"]);
  first.lose("closed");
  const second = await server.attempt(1);
  await second.accept();
  assert.equal(second.tracks, large);
  assert.deepEqual([first.taken, second.taken, server.counts], [[0], [1, 2], [3, 0]]);
  assert.deepEqual(
    server.statuses.map(([status]) => status),
    ["live", "starting", "live"],
  );
  await outlet.close();
});

test("new codec parameters while connecting are used for the session", async () => {
  const server = new Server();
  server.outlet.send(key(0), small);
  const first = await server.attempt(0);
  server.outlet.send(key(1), large);
  await first.accept();
  assert.equal(first.isGone, true);
  const second = await server.attempt(1);
  await second.accept();
  assert.deepEqual([second.tracks, second.taken], [large, [1]]);
  await server.outlet.close();
});

test("limits the buffer, and counts every frame once", async () => {
  const server = new Server({ bufferBytes: 100 });
  const { outlet } = server;
  outlet.send(key(0, 40), small);
  for (const index of [1, 2, 3]) outlet.send(unit(index, false, 40), small);
  const attempt = await server.attempt(0);
  assert.deepEqual(server.counts, [0, 4]);
  await attempt.accept();
  outlet.send(key(4, 1000), small);
  attempt.isTaking = false;
  outlet.send(unit(5), small);
  assert.deepEqual(server.counts, [1, 5]);
  attempt.lose("gone");
  await turn();
  for (const each of [key(6), unit(7)]) outlet.send(each, small);
  await outlet.close();
  assert.deepEqual(server.counts, [1, 7]);
});

test("close aborts a connection attempt at once, and waits for a frozen server up to the limit", async () => {
  const opening = new Server();
  opening.outlet.send(key(0), small);
  const attempt = await opening.attempt(0);
  await opening.outlet.close();
  assert.equal(attempt.isGone, true);

  const frozen = new Server({ closeMs: 5 });
  frozen.outlet.send(key(0), small);
  const stuck = await frozen.attempt(0);
  await stuck.accept();
  stuck.isFrozen = true;
  await frozen.outlet.close();
  assert.equal(stuck.isGone, true);

  const waiting = new Server({ firstWaitMs: 1e6 });
  waiting.outlet.send(key(0), small);
  await (await waiting.attempt(0)).refuse("no");
  await waiting.outlet.close();
  waiting.outlet.send(key(1), small);
  assert.equal(waiting.attempts.length, 1);
  for (const { statuses } of [opening, frozen, waiting])
    assert.ok(!statuses.some(([, detail]) => detail === "given up"), "its own end is not a fault");
});

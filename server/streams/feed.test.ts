import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { newUuid } from "../uuid.ts";
import type { StagedProcess } from "./staged-processes.fixture.ts";
import { eventually, openStage, type Stage } from "./streams.fixture.ts";

const pathOf = ({ uuid }: { readonly uuid: string }, key = "ada") => `/process/${uuid}/feed?api_key=${key}`;

async function openFeed({ port }: Stage, process: StagedProcess): Promise<IncomingMessage> {
  const asked = get({ port, path: pathOf(process), agent: false });
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  assert.equal(answer.statusCode, 200);
  return answer;
}

interface Part {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** As strictly as RFC 2046 has it. */
async function* readParts(answer: IncomingMessage): AsyncGenerator<Part> {
  const boundary = /^multipart\/x-mixed-replace; boundary=(.+)$/.exec(answer.headers["content-type"] ?? "")?.[1];
  assert.ok(boundary !== undefined);
  let held = Buffer.alloc(0);
  const chunks = answer[Symbol.asyncIterator]();
  const need = async (bytes: number) => {
    while (held.length < bytes) {
      const { value, done } = await chunks.next();
      assert.ok(done !== true, "the feed ended in the middle");
      held = Buffer.concat([held, value]);
    }
  };
  const take = async (bytes: number) => {
    await need(bytes);
    const taken = held.subarray(0, bytes);
    held = held.subarray(bytes);
    return taken;
  };
  const line = async () => {
    while (!held.includes("\r\n")) await need(held.length + 1);
    const text = (await take(held.indexOf("\r\n"))).toString();
    await take(2);
    return text;
  };
  for (;;) {
    const delimiter = await line();
    if (delimiter === `--${boundary}--`) return;
    assert.equal(delimiter, `--${boundary}`);
    const headers: Record<string, string> = {};
    for (let text = await line(); text !== ""; text = await line()) {
      const [name = "", value = ""] = text.split(": ");
      headers[name.toLowerCase()] = value;
    }
    const bytes = await take(Number(headers["content-length"]));
    assert.equal((await take(2)).toString(), "\r\n");
    yield { headers, bytes };
  }
}

describe("the feed", () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage({}, { STREAMS_VIEWERS: "3", STREAMS_VIEWERS_PER_KEY: "4" });
  });
  after(() => stage.close());

  test("sends each picture with its length and time, and ends with the process", async () => {
    const process = stage.start();
    const answer = await openFeed(stage, process);
    const parts = readParts(answer);
    const pictures = [Buffer.from("a tiny one"), Buffer.alloc(100_000, 7), Buffer.alloc(16_384, 1)];
    for (const [i, picture] of pictures.entries()) {
      process.show(picture, Date.UTC(2026, 0, 1, 0, 0, i));
      const { value } = await parts.next();
      assert.ok(value !== undefined);
      assert.equal(value.headers["content-type"], "image/jpeg");
      assert.equal(value.headers["x-timestamp"], `2026-01-01T00:00:0${i}.000Z`);
      assert.ok(picture.equals(value.bytes));
    }
    process.end();
    assert.equal((await parts.next()).done, true);
    await eventually(() => process.followers.size + process.watchers.size === 0, "no viewers are left");
  });

  test("sends the latest picture to each viewer, independent of the others", async () => {
    const process = stage.start();
    const [quick, slow] = [await openFeed(stage, process), await openFeed(stage, process)];
    slow.pause();
    const parts = readParts(quick);
    const count = 200;
    for (let i = 0; i < count; i++) {
      process.show(Buffer.alloc(100_000, i), i);
      const { value } = await parts.next();
      assert.ok(value?.bytes[0] === i % 256);
    }
    const seen: number[] = [];
    for await (const { headers } of readParts(slow)) {
      seen.push(Date.parse(headers["x-timestamp"] ?? ""));
      if (seen.at(-1) === count - 1) break;
    }
    assert.ok(seen.length < count, "nothing was left out");
    assert.deepEqual(
      seen,
      [...seen].sort((a, b) => a - b),
    );
    for (const viewer of [quick, slow]) viewer.destroy();
    await eventually(() => process.watchers.size === 0, "no viewers are left");
  });

  test("detects that a viewer has gone, also while nothing is sent", async () => {
    const process = stage.start();
    const answer = await openFeed(stage, process);
    assert.equal(process.watchers.size, 1);
    answer.destroy();
    await eventually(() => process.followers.size + process.watchers.size === 0, "no viewers are left");
  });

  test("limits viewers of feeds and events together, and accepts the next when one has gone", async () => {
    const process = stage.start();
    const feeds = [await openFeed(stage, process), await openFeed(stage, process)];
    const events = await fetch(`${stage.url}/process/${process.uuid}/events?api_key=ada`);
    const refused = await fetch(`${stage.url}${pathOf(process)}`);
    assert.equal(refused.status, 403);
    assert.equal(((await refused.json()) as { code: string }).code, "viewers_limit_reached");
    await events.body?.cancel();
    await eventually(() => process.followers.size === 2, "two are left");
    feeds.push(await openFeed(stage, process));
    for (const feed of feeds) feed.destroy();
    await eventually(() => process.followers.size === 0, "no viewers are left");
  });

  test("limits the viewers of one key, whatever process they watch", async () => {
    const [one, other] = [stage.start(), stage.start()];
    const feeds = [await openFeed(stage, one), await openFeed(stage, one), await openFeed(stage, one)];
    feeds.push(await openFeed(stage, other));
    const refused = await fetch(`${stage.url}/process/${other.uuid}/events?api_key=ada`);
    assert.equal(refused.status, 403);
    assert.match(
      ((await refused.json()) as { detail: string }).detail,
      /^4 feeds and event streams with this key are open/,
    );
    for (const feed of feeds) feed.destroy();
    await eventually(() => one.followers.size + other.followers.size === 0, "no viewers are left");
  });

  test("does not count rejected viewers: another user gets 404, whatever the number of viewers", async () => {
    const process = stage.start();
    const codeOf = async (what: string) => {
      const answer = await fetch(`${stage.url}/process/${process.uuid}/${what}?api_key=bob`);
      return [answer.status, ((await answer.json()) as { code: string }).code];
    };
    const feeds = [await openFeed(stage, process), await openFeed(stage, process), await openFeed(stage, process)];
    for (const what of ["events", "feed"]) assert.deepEqual(await codeOf(what), [404, "process_not_found"], what);
    for (const feed of feeds) feed.destroy();
    await eventually(() => process.followers.size === 0, "no viewers are left");
  });

  test("answers HEAD without attaching a branch", async () => {
    const process = stage.start();
    const asked = request({ port: stage.port, path: pathOf(process), method: "HEAD" });
    asked.end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    assert.equal(answer.statusCode, 200);
    assert.match(answer.headers["content-type"] ?? "", /^multipart\/x-mixed-replace; boundary=/);
    assert.equal(process.watchers.size + process.followers.size, 0);
    answer.resume();
  });

  test("rejects wrong keys, processes of others and graphs without a feed", async () => {
    const process = stage.start();
    const codeOf = async (path: string) => {
      const answer = await fetch(`${stage.url}${path}`);
      return [answer.status, ((await answer.json()) as { code: string }).code];
    };
    assert.deepEqual(await codeOf(`/process/${process.uuid}/feed`), [403, "api_key_missing"]);
    assert.deepEqual(await codeOf(pathOf(process, "wrong")), [403, "api_key_invalid"]);
    assert.deepEqual(await codeOf(pathOf(process, "bob")), [404, "process_not_found"]);
    assert.deepEqual(await codeOf(pathOf({ uuid: newUuid() })), [404, "process_not_found"]);
    assert.deepEqual(await codeOf(pathOf(stage.start(["detections"]))), [409, "graph_lacks"]);
  });
});

describe("a feed with a stalled viewer", () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage({ stallMs: 500 });
  });
  after(() => stage.close());

  test("disconnects a viewer that reads nothing, and no other", async () => {
    const process = stage.start();
    const socket = connect(stage.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`GET ${pathOf(process)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, "data");
    socket.pause();
    const quick = await openFeed(stage, process);
    quick.resume();
    assert.equal(process.watchers.size, 2);
    const timer = setInterval(() => process.show(Buffer.alloc(1_000_000)), 10);
    try {
      await eventually(() => process.watchers.size === 1, "one watches");
    } finally {
      clearInterval(timer);
    }
    assert.equal(quick.destroyed, false);
    quick.destroy();
    socket.destroy();
  });

  test("waits for pictures without limit: a paused process disconnects no viewer", async () => {
    const process = stage.start();
    const answer = await openFeed(stage, process);
    const parts = readParts(answer);
    process.show(Buffer.from("before"));
    await parts.next();
    const other = stage.start();
    const stalled = await openFeed(stage, other);
    // So long that a viewer who takes nothing is let go in the meantime.
    stalled.pause();
    const timer = setInterval(() => other.show(Buffer.alloc(1_000_000)), 10);
    await eventually(() => other.watchers.size === 0, "the one who takes nothing has gone").finally(() =>
      clearInterval(timer),
    );
    process.show(Buffer.from("after"));
    assert.equal((await parts.next()).value?.bytes.toString(), "after");
    answer.destroy();
  });
});

test("a shutdown ends feeds and events", async () => {
  const stage = await openStage();
  const process = stage.start();
  const parts = readParts(await openFeed(stage, process));
  process.show(Buffer.from("one"));
  await parts.next();
  const events = await fetch(`${stage.url}/process/${process.uuid}/events?api_key=ada`);
  await stage.streams.close();
  assert.equal((await parts.next()).done, true);
  assert.match(await events.text(), /event: state/);
  assert.equal((await fetch(`${stage.url}${pathOf(process)}`)).status, 503);
  assert.equal(process.followers.size + process.watchers.size, 0);
  await stage.close();
});

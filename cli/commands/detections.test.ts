import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { makeConfig } from "../../server/api/app.fixture.ts";
import { assertStored, PROCESS, Sender, START_MS, sceneAt } from "../../server/detections/detections.fixture.ts";
import { StoredDetections } from "../../server/detections/detections.ts";
import { silentLog } from "../../server/store/database.fixture.ts";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { windhover } from "../windhover.fixture.ts";

const dataDir = temporaryFolder();
const frames = Array.from({ length: 30 }, (_, at) => sceneAt(at, 2));

async function store(videoStartMs: number | null): Promise<void> {
  const config = makeConfig({ DATA_DIR: dataDir });
  const stored = new StoredDetections({
    config,
    log: silentLog,
    nodeUuid: PROCESS,
    shared: null,
    hasSpace: () => true,
  });
  const process = new Sender();
  process.videoStartMs = videoStartMs;
  stored.follow(process);
  process.send(frames);
  process.notify({ type: "ended" });
  await stored.close();
}
await store(START_MS - 1_000);
await store(null);
const [ofVideo, ofStream] = ["0", "1"].map((index) => join(dataDir, "detections", PROCESS, `${index}.ndjson.gz`));

const detections = (...args: readonly string[]) => windhover(["detections", ...args]);
const parse = (lines: readonly string[]) => lines.map((line) => JSON.parse(line));

test("prints the messages of files, all or by time", async () => {
  const all = await detections(`${ofStream}`, `${ofVideo}`);
  assert.deepEqual([all.code, all.stderr], [0, ""]);
  assertStored(parse(all.lines), [...frames, ...frames]);
  const at = (frame: number) => new Date(START_MS + frame * 100).toISOString();
  const some = await detections(`${ofStream}`, "--from", at(5), "--to", at(8));
  assertStored(parse(some.lines), frames.slice(5, 8));
  const seconds = await detections(`${ofVideo}`, "--from", "1.5", "--to", "1.8");
  assertStored(parse(seconds.lines), frames.slice(5, 8));
});

test("explains what is wrong with a command line or a file", async () => {
  for (const [args, code, message] of [
    [[`${ofStream}`, "--from", "5"], 2, /the source was live/],
    [[`${ofStream}`, "--from", "2026-05-18", "--to", "2026-05-17"], 2, /--to is not after --from/],
    [["package.json"], 1, /not a file of stored detections/],
    [["http://127.0.0.1:9/process/x"], 2, /missing: --key/],
  ] as const) {
    const outcome = await detections(...args);
    assert.equal(outcome.code, code, args.join(" "));
    assert.match(outcome.stderr, message);
  }
});

test("prints what a service answers", async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url, request.headers.api_key?.toString());
    if (request.url?.startsWith("/process/none")) {
      response.writeHead(404, { "content-type": "application/problem+json" });
      response.end('{"detail":"there is no process"}');
      return;
    }
    // In two pieces, the first one without the end of its line.
    response.write('{"a":1}\n{"b"');
    setImmediate(() => response.end(":2}\n"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/process`;
  try {
    const found = await detections(`${url}/one`, "--key", "k", "--from", "12.5");
    assert.deepEqual([found.code, found.lines], [0, ['{"a":1}', '{"b":2}']]);
    assert.deepEqual(asked, ["/process/one/detections?from=12.5", "k"]);
    const none = await detections(`${url}/none`, "--key", "k");
    assert.equal(none.code, 1);
    assert.match(none.stderr, /the service answered 404: there is no process/);
  } finally {
    server.close();
  }
});

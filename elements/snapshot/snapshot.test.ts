import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Frame, Log } from "../element.ts";
import { SnapshotHandler, type SnapshotProperties } from "./handler.ts";

const folder = await mkdtemp(join(tmpdir(), "snapshot-"));
after(() => rm(folder, { recursive: true }));

interface Taken {
  readonly handler: SnapshotHandler;
  readonly errors: readonly string[];
}

function start(properties: Omit<SnapshotProperties, "at"> & { at?: readonly number[] }): Taken {
  const errors: string[] = [];
  const error: Log["error"] = (message, fields) => errors.push([message, fields?.reason ?? []].flat().join(": "));
  const log: Log = { debug() {}, info() {}, warn() {}, error };
  return { handler: new SnapshotHandler({ at: [], ...properties }, log), errors };
}

const makeFrame = (
  seconds: number,
  image = async (type: string) => new TextEncoder().encode(`${type} ${seconds}`),
): Frame => ({ ptsNs: BigInt(seconds * 1e9), image, signal: new AbortController().signal }) as Partial<Frame> as Frame;

test("images have number, time and the type of their file extension", async () => {
  await mkdir(join(folder, "a"));
  const { handler } = start({ path: join(folder, "a", "{index}-{pts}.JPG"), at: [1, 2.5] });
  for (const seconds of [0, 1, 2, 3]) await handler.process(makeFrame(seconds));
  await handler.end();
  assert.deepEqual((await readdir(join(folder, "a"))).sort(), ["0000-1.000.JPG", "0001-3.000.JPG"]);
  assert.equal(await readFile(join(folder, "a", "0001-3.000.JPG"), "utf8"), "image/jpeg 3");
});

test("a path without a placeholder always holds the latest image", async () => {
  const path = join(folder, "latest.png");
  const { handler } = start({ path, every: 1 });
  for (const seconds of [0, 1, 2]) await handler.process(makeFrame(seconds));
  await handler.end();
  assert.equal(await readFile(path, "utf8"), "image/png 2");
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.endsWith(".part")),
    [],
  );
});

test("counts an image that cannot be written, and the stream continues", async () => {
  await writeFile(join(folder, "file"), "");
  await mkdir(join(folder, "folder.png"));
  for (const [path, reason] of [
    ["file/{index}.png", `there is no folder ${join(folder, "file")}; make it first`],
    ["missing/{index}.png", `there is no folder ${join(folder, "missing")}; make it first`],
    ["folder.png", `${join(folder, "folder.png")} is a folder`],
  ] as const) {
    const { handler, errors } = start({ path: join(folder, path), every: 1 });
    for (const seconds of [0, 1, 2]) await handler.process(makeFrame(seconds));
    await handler.close();
    assert.deepEqual(errors, [`snapshot failed: ${reason}`, "snapshots failed"]);
  }
});

test("a frame discarded by a stop is not a failure", async () => {
  const { handler, errors } = start({ path: join(folder, "never.png"), every: 1 });
  const frame = { ...makeFrame(0, () => Promise.reject(new Error("discarded"))), signal: AbortSignal.abort() };
  await handler.process(frame);
  await handler.close();
  assert.deepEqual(errors, []);
});

test("encodes only selected frames", async () => {
  const { handler } = start({ path: join(folder, "x.png"), at: [10] });
  await handler.process(makeFrame(1, () => assert.fail("encoded")));
});

test("moments are mutable while PLAYING", async () => {
  const path = join(folder, "changed-{pts}.png");
  const { handler } = start({ path });
  await handler.process(makeFrame(1));
  handler.update({ path, at: [2] });
  await handler.process(makeFrame(2));
  await handler.end();
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith("changed")),
    ["changed-2.000.png"],
  );
});

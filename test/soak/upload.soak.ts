import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { makeFilm, withFolder } from "../../native/film.fixture.ts";
import { runChild } from "../child.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const { file: CHILD, execArgv } = runChild(new URL("upload.child.ts", import.meta.url));
const MAX_GROWTH_MB = 60;
const WARM_MB = 20;
const CHUNK = Buffer.alloc(2 ** 20, 7);

const film = await withFolder(async (folder) => {
  await makeFilm(join(folder, "film.mp4"), 20, false);
  return readFile(join(folder, "film.mp4"));
});

/** A form with a film, followed by padding that players skip. */
function* writeForm(paddingMb: number): Generator<Buffer> {
  yield Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="long.mp4"\r\n\r\n');
  yield film;
  const box = Buffer.alloc(8);
  box.writeUInt32BE(8 + paddingMb * CHUNK.length);
  box.write("free", 4);
  yield box;
  for (let i = 0; i < paddingMb; i += 1) yield CHUNK;
  yield Buffer.from("\r\n--b--\r\n");
}

async function upload(url: string, key: string, paddingMb: number): Promise<number | undefined> {
  const headers = { api_key: key, "content-type": "multipart/form-data; boundary=b" };
  const sent = request(`${url}/video`, { method: "POST", headers });
  Readable.from(writeForm(paddingMb)).pipe(sent);
  const [response] = await once(sent, "response");
  response.resume();
  await once(response, "end");
  return response.statusCode;
}

/** Peak since the last reading, and current size. */
async function readSizes(server: ChildProcess): Promise<{ readonly peakMb: number; readonly nowMb: number }> {
  server.send("read");
  const [sizes] = await once(server, "message");
  return sizes;
}

test("memory of the server stays flat during a large upload", { timeout: 240_000 }, async (t) => {
  const server = fork(CHILD, { execArgv: [...execArgv] });
  try {
    const [{ url, key }] = await once(server, "message");
    assert.equal(await upload(url, key, WARM_MB), 201);
    const { nowMb } = await readSizes(server);
    assert.equal(await upload(url, key, rounds(80, 499)), 201);
    const { peakMb } = await readSizes(server);
    const growthMb = peakMb - nowMb;
    t.diagnostic(`RSS grew by ${growthMb.toFixed(0)} MB of ${MAX_GROWTH_MB}`);
    assert.ok(growthMb < MAX_GROWTH_MB, `RSS grew by ${growthMb.toFixed(0)} MB`);
  } finally {
    server.send("close");
    await once(server, "exit");
  }
});

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeClip } from "../../media/mp4/clip.fixture.ts";
import { record } from "../../media/mp4/recorded.fixture.ts";
import { TsDemuxer } from "../../media/mpegts/demuxer.ts";
import { isKlv, splitCells } from "../../media/mpegts/klv-cells.ts";
import { testSigner } from "../media/media.fixture.ts";
import { ServiceError } from "../service-error.ts";
import { newUuid } from "../uuid.ts";
import { openApp, type TestApp } from "./app.fixture.ts";
import { recordingEndpoints } from "./recordings.ts";

const BYTES = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 256));
const LARGE = 64 * 2 ** 20;
const KLV = Buffer.from("060e2b34020b01010e0103010100000002abcd", "hex");
const clip = makeClip({ seconds: 1 });
const withKlv = clip.units.map((unit) => ({ ...unit, klv: [{ ptsUs: unit.ptsUs, data: KLV }] }));
const [RECORDED = assert.fail()] = record(
  { ...clip, tracks: { ...clip.tracks, klv: "synchronous" }, units: withKlv },
  60,
);
const signer = testSigner();
const uuid = newUuid();
let folder: string;
let app: TestApp;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "windhover-download-"));
  await writeFile(join(folder, "0.mp4"), Buffer.concat([BYTES, Buffer.from("not safe on the disk yet")]));
  await writeFile(join(folder, "1.mp4"), "");
  await truncate(join(folder, "1.mp4"), LARGE);
  await writeFile(join(folder, "2.mp4"), await RECORDED.read(0, RECORDED.bytes));
  const startedAt = new Date("2026-11-15T12:00:00Z");
  const endpoints = recordingEndpoints({
    signer,
    stallMs: 300,
    recordings: {
      list: async () => ({ rows: [], nextCursor: null }),
      remove: async () => {},
      find: async (_, __, index) => {
        if (index > 2) throw new ServiceError("recording_not_found", { detail: "not found" });
        const sizeBytes = [BYTES.length, LARGE, RECORDED.bytes][index] ?? 0;
        return { path: join(folder, `${index}.mp4`), alias: 'Hof "Süd"', startedAt, sizeBytes };
      },
    },
  });
  app = await openApp(endpoints, { isSigned: (resource, token) => signer.isGood(resource, token) });
});
after(async () => {
  await app?.close(0);
  await rm(folder, { recursive: true, force: true });
});

const token = () => signer.sign(`recording/${uuid}`);
const download = (headers: Record<string, string> = {}, method = "GET") =>
  app.call(`/recording/${uuid}/0?token=${token()}`, { headers, method });
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer());

test("sends a segment up to its flushed size, with a descriptive file name", async () => {
  const answer = await download();
  assert.equal(answer.status, 200);
  assert.deepEqual(await bytesOf(answer), BYTES);
  assert.equal(answer.headers.get("content-type"), "video/mp4");
  assert.equal(answer.headers.get("accept-ranges"), "bytes");
  assert.equal(
    answer.headers.get("content-disposition"),
    "attachment; filename=\"Hof _S_d_ 2026-11-15T12-00-00.mp4\"; filename*=UTF-8''Hof%20%22S%C3%BCd%22%202026-11-15T12-00-00.mp4",
  );
});

test("sends a segment as MPEG-TS with its metadata, and a damaged one not at all", async () => {
  const asStream = (index: number, method = "GET") =>
    app.call(`/recording/${uuid}/${index}?format=ts&token=${token()}`, { method });
  const answer = await asStream(2);
  assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "video/mp2t"]);
  assert.match(answer.headers.get("content-disposition") ?? "", /2026-11-15T12-00-00\.ts"/);
  let [units, pictures] = [0, 0];
  const demuxer = new TsDemuxer({
    unitBytes: 2 ** 20,
    onStreams: (streams) => streams,
    onPacket: ({ stream, data }) => {
      if (!isKlv(stream)) pictures += 1;
      else if (splitCells(data)[0]?.equals(KLV)) units += 1;
    },
  });
  demuxer.push(await bytesOf(answer));
  demuxer.flush();
  assert.deepEqual([units, pictures], [clip.pictures, clip.pictures]);
  assert.equal((await bytesOf(await asStream(2, "HEAD"))).length, 0);
  const damaged = await asStream(0);
  assert.deepEqual([damaged.status, ((await damaged.json()) as { code: string }).code], [422, "video_invalid"]);
});

test("sends the requested range", async () => {
  for (const [range, first, last] of [
    ["bytes=0-0", 0, 0],
    ["bytes=100-299", 100, 299],
    ["bytes=990-", 990, 999],
    ["bytes=-5", 995, 999],
  ] as const) {
    const answer = await download({ range });
    assert.equal(answer.status, 206);
    assert.equal(answer.headers.get("content-range"), `bytes ${first}-${last}/1000`);
    assert.deepEqual(await bytesOf(answer), BYTES.subarray(first, last + 1));
  }
});

test("rejects a range outside the file with its length", async () => {
  const answer = await download({ range: "bytes=1000-" });
  assert.deepEqual([answer.status, answer.headers.get("content-range")], [416, "bytes */1000"]);
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  assert.equal(((await answer.json()) as { code: string }).code, "range_not_satisfiable");
});

test("sends a range only if `If-Range` matches", async () => {
  const etag = (await download({}, "HEAD")).headers.get("etag") ?? "";
  assert.match(etag, /^"[^"]+"$/);
  assert.equal((await download({ range: "bytes=0-9", "if-range": etag })).status, 206);
  assert.equal((await download({ range: "bytes=0-9", "if-range": '"other"' })).status, 200);
  assert.equal((await download({ "if-none-match": etag })).status, 304);
});

test("HEAD returns the length without a body", async () => {
  const answer = await download({}, "HEAD");
  assert.deepEqual([answer.status, answer.headers.get("content-length")], [200, "1000"]);
  assert.equal((await bytesOf(answer)).length, 0);
  const part = await download({ range: "bytes=0-9" }, "HEAD");
  assert.deepEqual([part.status, part.headers.get("content-length")], [206, "10"]);
});

test("requires a key or a signed URL for this resource", async () => {
  const path = `/recording/${uuid}/0`;
  const codeOf = async (target: string, headers: Record<string, string> = {}) => {
    const answer = await app.call(target, { headers });
    return answer.status === 200 ? "sent" : ((await answer.json()) as { code: string }).code;
  };
  assert.equal(await codeOf(path), "api_key_missing");
  assert.equal(await codeOf(path, { api_key: "ada" }), "sent");
  assert.equal(await codeOf(`${path}?api_key=ada`), "sent");
  assert.equal(await codeOf(`${path}?token=${token()}`), "sent");
  assert.equal(await codeOf(`/recording/${uuid.toUpperCase()}/0?token=${token()}`), "sent");
  assert.equal(await codeOf(`${path}?token=`), "signature_invalid");
  assert.equal(await codeOf(`${path}?token=old`, { api_key: "ada" }), "sent", "a valid key is accepted with any token");
  assert.equal(await codeOf(`${path}?token=old`, { api_key: "eve" }), "api_key_invalid");
  assert.equal(await codeOf(`${path}?token=${signer.sign(`recording/${newUuid()}`)}`), "signature_invalid");
  assert.equal(await codeOf(`${path}?token=${signer.sign(`source/${uuid}`)}`), "signature_invalid");
  assert.equal(await codeOf(`/recording/${uuid}/3?token=${token()}`), "recording_not_found");
  assert.equal(await codeOf(`/recording/${uuid}/00?token=${token()}`), "path_not_found");
  const remove = await app.call(`/recording/${uuid}?token=${token()}`, { method: "DELETE" });
  assert.equal(((await remove.json()) as { code: string }).code, "api_key_missing", "a signed URL only reads");
  assert.doesNotMatch(app.logged.join(), new RegExp(token().slice(-20)));
});

test("disconnects a client that reads nothing", async () => {
  const socket = connect(app.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(`GET /recording/${uuid}/1 HTTP/1.1\r\nHost: x\r\napi_key: ada\r\n\r\n`);
  let received = 0;
  // Nothing is read until the server has disconnected: only buffered data arrives.
  await new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (!app.logged.some((line) => line.includes("/1") && line.includes('"aborted":true'))) return;
      clearInterval(look);
      resolve();
    }, 20);
  });
  socket.on("data", (chunk) => {
    received += chunk.length;
  });
  socket.resume();
  await once(socket, "close");
  assert.ok(received < LARGE);
});

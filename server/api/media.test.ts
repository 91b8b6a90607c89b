import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { goingOn, keyOfToken } from "../keys/signed-urls.ts";
import { askHubAt } from "../media/hub-proxy.ts";
import { StillMedia, testSigner } from "../media/media.fixture.ts";
import { newUuid } from "../uuid.ts";
import { makeUser, openApp, type TestApp } from "./app.fixture.ts";
import { mediaEndpoints } from "./media.ts";

const ada = makeUser("ada");
const eve = makeUser("eve");
const uuid = newUuid();
const signer = testSigner();
const media = new StillMedia();
const keyUsed: string[] = [];
let isKeyValid = true;
let folder: string;
let hub: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let app: TestApp;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "windhover-forward-"));
  hub = createServer((request, response) => answer(request, response));
  hub.listen(join(folder, "http"));
  await once(hub, "listening");
  const endpoints = mediaEndpoints(
    {
      ...{ hub: media, signer, onKeyUsed: (path: string) => void keyUsed.push(path) },
      ask: askHubAt(join(folder, "http"), 500),
      admitPublisher: async () => ({ refusal: null, recording: null }),
      watched: {
        find: async (_, asked) => (asked === uuid ? { userUuid: ada.uuid, path: "ada/yard" } : null),
        isKeyValid: async (key) => key === ada.key.uuid && isKeyValid,
      },
    },
    { stallMs: 300, http: { request_seconds: 5 } },
  );
  app = await openApp(endpoints, {
    settings: { HTTP_CORS_ORIGINS: "https://watch.example.com" },
    authenticate: async (key) => (key === "eve" ? eve : ada),
    isSigned: (resource, token) => signer.isGood(resource, token),
  });
});
beforeEach(() => {
  media.trouble = null;
  media.live.add("ada/yard");
  answer = (_, response) => void response.writeHead(500).end("no answer in this test");
});
after(async () => {
  await app?.close(0);
  hub?.closeAllConnections();
  hub?.close();
  await rm(folder, { recursive: true, force: true });
});

const token = () => signer.sign(`source/${uuid}`);
const get = (file: string, key = "ada") => app.call(`/source/${uuid}/hls/${file}`, { headers: { api_key: key } });
const offer = (body = "v=0", type = "application/sdp", more = {}) =>
  app.call(`/source/${uuid}/whep?token=${token()}`, {
    method: "POST",
    body,
    headers: { "content-type": type, ...more },
  });
const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code;

test("forwards HLS from the hub, with a session token", async () => {
  let target = "";
  answer = (request, response) => {
    target = request.url ?? "";
    response.writeHead(200, {
      "content-type": "application/vnd.apple.mpegurl",
      "cache-control": "no-cache",
      "x-own": "1",
    });
    response.end("#EXTM3U");
  };
  const response = await get("video.m3u8?_HLS_msn=7&_HLS_part=2&api_key=secret");
  assert.deepEqual([response.status, await response.text()], [200, "#EXTM3U"]);
  assert.equal(response.headers.get("cache-control"), "no-cache");
  assert.equal(response.headers.get("x-own"), null);
  const asked = new URL(target, "http://hub");
  assert.equal(asked.pathname, "/hls/ada/yard/video.m3u8");
  assert.deepEqual([...asked.searchParams.keys()].sort(), ["_HLS_msn", "_HLS_part", "token"]);
  const onward = asked.searchParams.get("token") ?? "";
  assert.ok(signer.isGood(goingOn(`source/${uuid}`), onward));
  const signed = await app.call(`/source/${uuid}/hls/index.m3u8?token=${token()}`);
  assert.equal(signed.status, 200);
  const later = new URL(target, "http://hub").searchParams.get("token") ?? "";
  assert.ok(signer.isGood(goingOn(`source/${uuid}`), later));
  assert.deepEqual([keyOfToken(onward), keyOfToken(later)], [ada.key.uuid, null]);
});

test("a session that was opened with a key ends with the key", async () => {
  let target = "";
  answer = (request, response) => {
    target = request.url ?? "";
    response.end("#EXTM3U");
  };
  assert.equal((await get("index.m3u8")).status, 200);
  const session = new URL(target, "http://hub").searchParams.get("token") ?? "";
  const play = () => app.call(`/source/${uuid}/hls/video.m3u8?token=${session}`);
  assert.equal((await play()).status, 200);
  assert.equal(new URL(target, "http://hub").searchParams.get("token"), session);
  const forged = [session.replace(ada.key.uuid, newUuid()), session.slice(0, session.lastIndexOf("."))];
  for (const wrong of forged)
    assert.equal(
      await codeOf(await app.call(`/source/${uuid}/hls/video.m3u8?token=${wrong}`)),
      "signature_invalid",
      "the key is part of what is signed",
    );
  isKeyValid = false;
  try {
    assert.equal(await codeOf(await play()), "signature_invalid");
    const signed = await app.call(`/source/${uuid}/hls/index.m3u8?token=${token()}`);
    assert.equal(signed.status, 200, "a signed URL belongs to no key");
  } finally {
    isKeyValid = true;
  }
});

test("a session token continues playback but does not start it", async () => {
  let target = "";
  answer = (request, response) => {
    target = request.url ?? "";
    response.end("#EXTM3U");
  };
  const onward = signer.signGoingOn(`source/${uuid}`);
  const next = await app.call(`/source/${uuid}/hls/video.m3u8?token=${onward}`);
  assert.equal(next.status, 200);
  assert.equal(new URL(target, "http://hub").searchParams.get("token"), onward);
  for (const beginning of ["hls/index.m3u8", "whep"]) {
    const method = beginning === "whep" ? "POST" : "GET";
    const rejected = await app.call(`/source/${uuid}/${beginning}?token=${onward}`, { method });
    assert.equal(await codeOf(rejected), "signature_invalid", beginning);
  }
});

test("rejects file names that could escape the path", async () => {
  for (const file of ["..", "%2e%2e", "a%2fb", ".hidden", "a%00", "x".repeat(200)])
    assert.equal(await codeOf(await get(file)), "path_not_found", file);
});

test("a user without access gets 404", async () => {
  assert.equal(await codeOf(await get("index.m3u8", "eve")), "source_not_found");
  const other = await app.call(`/source/${newUuid()}/hls/index.m3u8`, { headers: { api_key: "ada" } });
  assert.equal(await codeOf(other), "source_not_found");
  const output = await app.call(`/output/${uuid}/hls/index.m3u8?token=${token()}`);
  assert.equal(await codeOf(output), "signature_invalid");
});

test("distinguishes a missing stream, a missing file and a missing hub", async () => {
  answer = (_, response) => void response.writeHead(404).end("there is no such file");
  assert.equal(await codeOf(await get("gone.m4s")), "path_not_found");
  media.live.clear();
  assert.equal(await codeOf(await get("index.m3u8")), "stream_not_live");
  media.trouble = "it is being started again";
  const away = await get("index.m3u8");
  assert.deepEqual([away.status, await codeOf(away)], [503, "media_unavailable"]);
});

test("does not wait for a hub that does not answer", async () => {
  answer = () => {};
  assert.equal(await codeOf(await get("index.m3u8")), "media_unavailable");
  answer = (_, response) => void response.destroy();
  assert.equal(await codeOf(await get("index.m3u8")), "media_unavailable");
});

test("aborts the hub request when the client disconnects, which is no error", async () => {
  const before = app.logged.length;
  const calls = new EventEmitter();
  const [asked, gone] = [once(calls, "asked"), once(calls, "gone")];
  answer = (_, response) => {
    response.on("close", () => calls.emit("gone"));
    calls.emit("asked");
  };
  const aborter = new AbortController();
  const asking = app.call(`/source/${uuid}/hls/index.m3u8?token=${token()}`, { signal: aborter.signal });
  await asked;
  aborter.abort();
  await assert.rejects(asking);
  await gone;
  const logged = () => app.logged.slice(before).map((line) => JSON.parse(line) as { level: number; msg: string });
  while (!logged().some(({ msg }) => msg === "media_unavailable")) await new Promise(setImmediate);
  assert.deepEqual(
    logged().filter(({ level }) => level > 30),
    [],
  );
});

test("a WHEP client gets the hub's SDP answer and a URL to end the session", async () => {
  let offered = "";
  answer = (request, response) => {
    if (request.method === "DELETE")
      return void response.writeHead(request.url === "/whep/ada/yard/abc" ? 204 : 404).end();
    request.setEncoding("utf8").on("data", (text) => {
      offered += text;
    });
    request.on("end", () =>
      response.writeHead(201, { "content-type": "application/sdp", location: "/whep/ada/yard/abc" }).end("v=0 answer"),
    );
  };
  const response = await offer("v=0 offer", "application/sdp; charset=utf-8", { origin: "https://watch.example.com" });
  assert.deepEqual([response.status, await response.text(), offered], [201, "v=0 answer", "v=0 offer"]);
  assert.equal(response.headers.get("content-type"), "application/sdp");
  assert.match(response.headers.get("access-control-expose-headers") ?? "", /\blocation\b/);
  assert.deepEqual(keyUsed, ["ada/yard"]);
  const location = response.headers.get("location") ?? "";
  assert.ok(location.startsWith(`${app.url}/source/${uuid}/whep/abc?token=`), location);
  const left = await fetch(location, { method: "DELETE" });
  assert.deepEqual([left.status, await left.json()], [200, { deleted: true }]);
  const again = await fetch(location.replace("/abc?", "/abd?"), { method: "DELETE" });
  assert.equal(await codeOf(again), "path_not_found");
});

for (const [status, code] of [
  [400, "invalid_input"],
  [406, "stream_not_playable"],
  [409, "stream_not_playable"],
  [503, "media_unavailable"],
  [500, "media_unavailable"],
] as const)
  test(`status ${status} of the hub becomes ${code}, with the hub's text`, async () => {
    answer = (_, response) => void response.writeHead(status).end("this stream has B-frames");
    const problem = (await (await offer()).json()) as { code: string; detail: string };
    assert.deepEqual([problem.code, problem.detail], [code, "this stream has B-frames"]);
  });

test("does not forward a body that is not an SDP offer", async () => {
  assert.equal(await codeOf(await offer("{}", "application/json")), "media_type_unsupported");
  assert.equal(await codeOf(await offer("x".repeat(70_000))), "body_too_large");
});

import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { StatusError, StreamRejected } from "./errors.ts";
import { type HttpDeps, openHttp } from "./http.ts";

const NOTHING: Omit<HttpDeps, "socket"> = {
  hls: { answer: async () => ({ status: 200, headers: {}, body: "" }) },
  whep: {
    offer: async () => ({ id: "1", sdp: "v=0" }),
    publish: async () => ({ id: "1", sdp: "v=0" }),
    close: () => false,
  },
  log: () => {},
};

async function open(t: TestContext, parts: Partial<HttpDeps>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "windhover-http-"));
  const socket = join(folder, "hub.sock");
  // Left behind by a killed hub.
  await writeFile(socket, "");
  const http = await openHttp({ ...NOTHING, ...parts, socket });
  t.after(async () => {
    await http.close();
    await rm(folder, { recursive: true });
  });
  return socket;
}

async function ask(socketPath: string, method: string, path: string, body = "") {
  const asked = request({ socketPath, method, path });
  asked.end(body);
  const [answer] = await once(asked, "response");
  let text = "";
  for await (const piece of answer) text += piece;
  return { status: answer.statusCode as number, headers: answer.headers as Record<string, string>, text };
}

test("passes path, file name and query of HLS requests, on a socket that only the owner can open", async (t) => {
  const asked: unknown[] = [];
  const socket = await open(t, {
    hls: {
      async answer(path, file, query) {
        asked.push([path, file, query.get("_HLS_msn")]);
        return { status: 200, headers: { "content-type": "video/mp4" }, body: Uint8Array.from([1, 2, 3]) };
      },
    },
  });
  const answer = await ask(socket, "GET", "/hls/anna/drone/front/seg%20.mp4?_HLS_msn=7&token=a");
  assert.deepEqual([answer.status, answer.headers["content-length"], answer.text], [200, "3", "\x01\x02\x03"]);
  assert.deepEqual(asked, [["anna/drone/front", "seg%20.mp4", "7"]]);
  assert.equal((await stat(socket)).mode & 0o777, 0o600);
});

test("an offer is answered, and the viewer or publisher is closed by the name it got", async (t) => {
  const closed: string[] = [];
  const socket = await open(t, {
    whep: {
      publish: async (path, sdp, recording) => ({ id: "p1", sdp: `${path} ${sdp} ${recording}` }),
      offer: async (path, sdp) => ({ id: "v1", sdp: `${path} ${sdp}` }),
      close: (path, id) => closed.push(`${path} ${id}`) > 0 && id === "v1",
    },
  });
  const answer = await ask(socket, "POST", "/whep/anna/drone", "v=0");
  assert.deepEqual(
    [answer.status, answer.headers.location, answer.text],
    [201, "/whep/anna/drone/v1", "anna/drone v=0"],
  );
  assert.equal((await ask(socket, "DELETE", "/whep/anna/drone/v1")).status, 204);
  assert.equal((await ask(socket, "DELETE", "/whep/anna/drone/v2")).status, 404);
  const published = await ask(socket, "POST", "/whip/anna/drone", "v=0");
  assert.deepEqual(
    [published.status, published.headers.location, published.text],
    [201, "/whip/anna/drone/p1", "anna/drone v=0 null"],
  );
  assert.equal((await ask(socket, "DELETE", "/whip/anna/drone/v1")).status, 204);
  assert.deepEqual(closed, ["anna/drone v1", "anna/drone v2", "anna/drone v1"]);
});

test("returns rejections to the client, and writes internal errors only to the log", async (t) => {
  const faults: unknown[] = [
    new StreamRejected("not_live", "nothing is published"),
    new StreamRejected("too_many", "too many readers"),
    new StatusError(409, "B-frames"),
    new Error("an internal secret"),
  ];
  const logged: string[] = [];
  const socket = await open(t, {
    whep: {
      offer: async () => {
        throw faults.shift();
      },
      publish: async () => assert.fail(),
      close: () => false,
    },
    log: (_level, _message, fields) => logged.push(String(fields?.error)),
  });
  const answers = [];
  for (let i = 0; i < 4; i++) answers.push(await ask(socket, "POST", "/whep/anna/drone", "v=0"));
  assert.deepEqual(
    answers.map(({ status, text }) => `${status} ${text}`),
    ["404 nothing is published", "503 too many readers", "409 B-frames", "500 internal error of the media server"],
  );
  assert.match(logged.join(), /^Error: an internal secret/);
});

test("aborts a blocked request when its client disconnects", async (t) => {
  const events = new EventEmitter();
  const [waiting, gone] = [once(events, "waiting"), once(events, "gone")];
  const socket = await open(t, {
    hls: {
      answer: (_path, _file, _query, signal) =>
        new Promise((_resolve, reject) => {
          events.emit("waiting");
          signal.addEventListener("abort", () => {
            events.emit("gone");
            reject(signal.reason);
          });
        }),
    },
  });
  const asked = request({ socketPath: socket, path: "/hls/anna/drone/video.m3u8" });
  asked.on("error", () => {});
  asked.end();
  await waiting;
  asked.destroy();
  await gone;
});

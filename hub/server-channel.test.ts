import assert from "node:assert/strict";
import { test } from "node:test";
import { NoReply, RequestRejected } from "../ipc/channel.ts";
import type { Authorization } from "../schemas/hub.ts";
import { limitLog } from "./log.ts";
import { AccessClient, type AccessRequest } from "./server-channel.ts";

const QUESTION: AccessRequest = {
  action: "publish",
  protocol: "rtmp",
  path: "anna/drone",
  secret: "k",
  address: "10.0.0.1",
};

/** Asks a server that replies as given. */
function ask(reply: () => Authorization) {
  const asked: unknown[] = [];
  const request = async (message: unknown, limitMs: number) => {
    asked.push(message, limitMs);
    return reply();
  };
  return { asked, admission: new AccessClient({ request }, 60_000).authorize(QUESTION) };
}

test("admits a client that the server authorizes", async () => {
  const { asked, admission } = ask(() => ({ refusal: null, recording: "r1", isOwn: true }));
  assert.deepEqual(await admission, { recording: "r1", isOwn: true });
  assert.deepEqual(asked, [{ type: "authorize", ...QUESTION }, 60_000]);
});

test("rejects a client with the reason of the server", async () => {
  const { admission } = ask(() => ({ refusal: { kind: "forbidden", detail: "not yours" }, recording: null }));
  await assert.rejects(admission, { kind: "forbidden", message: "not yours" });
});

test("rejects a client while the server does not reply, or rejects the request itself", async () => {
  for (const error of [new NoReply("late"), new RequestRejected("busy", "10000 requests are open")]) {
    const { admission } = ask(() => {
      throw error;
    });
    await assert.rejects(admission, { kind: "unavailable", message: /cannot authorize clients now/ });
  }
});

test("counts dropped log lines, and never drops errors because of others", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const lines: string[] = [];
  const log = limitLog((_level, message, fields) => lines.push(`${message} ${fields?.lines ?? ""}`));
  for (let i = 0; i < 250; i++) log("info", "x");
  assert.equal(lines.length, 100);
  log("error", "a fault");
  t.mock.timers.tick(1000);
  log("info", "y");
  assert.deepEqual(lines.slice(100), ["a fault ", "log lines dropped 150", "y "]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuthorizeRequest } from "../schemas/hub.ts";
import { StreamRejected } from "./errors.ts";
import { limitLog } from "./log.ts";
import { AccessClient, type AccessRequest } from "./server-channel.ts";

const QUESTION: AccessRequest = {
  action: "publish",
  protocol: "rtmp",
  path: "anna/drone",
  secret: "k",
  address: "10.0.0.1",
};

function open(verdictMs = 60_000) {
  const asked: AuthorizeRequest[] = [];
  return { asked, access: new AccessClient((request) => asked.push(request), { verdictMs }) };
}

const kindOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "let in",
    (error: unknown) => (error instanceof StreamRejected ? error.kind : String(error)),
  );

test("matches verdicts to requests in any order", async () => {
  const { asked, access } = open();
  const [first, second] = [access.authorize(QUESTION), access.authorize({ ...QUESTION, action: "play" })];
  const [a, b] = asked;
  assert.ok(a && b && a.id !== b.id);
  assert.deepEqual({ ...a, id: 0 }, { type: "authorize", id: 0, ...QUESTION });
  access.handleVerdict({
    type: "verdict",
    id: b.id,
    refusal: { kind: "forbidden", detail: "not yours" },
    recording: null,
  });
  access.handleVerdict({ type: "verdict", id: a.id, refusal: null, recording: "r1" });
  assert.deepEqual(await first, { recording: "r1", isOwn: false });
  await assert.rejects(second, { kind: "forbidden", message: "not yours" });
});

test("rejects without a verdict in time, and ignores a late one", async () => {
  const { asked, access } = open(5);
  assert.equal(await kindOf(access.authorize(QUESTION)), "unavailable");
  access.handleVerdict({ type: "verdict", id: asked[0]?.id ?? 0, refusal: null, recording: null });
  access.handleVerdict({ type: "verdict", id: 999, refusal: null, recording: null });
});

test("closing rejects pending requests, and sends no new ones", async () => {
  const { asked, access } = open();
  const waiting = kindOf(access.authorize(QUESTION));
  access.close();
  assert.equal(await waiting, "unavailable");
  assert.equal(await kindOf(access.authorize(QUESTION)), "unavailable");
  assert.equal(asked.length, 1);
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

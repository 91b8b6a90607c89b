import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuthorizeRequest } from "../schemas/hub.ts";
import { Doorman, type Question, Refused } from "./doorman.ts";

const QUESTION: Question = {
  action: "publish",
  protocol: "rtmp",
  path: "anna/drone",
  secret: "k",
  address: "10.0.0.1",
};

function open(verdictMs = 60_000) {
  const asked: AuthorizeRequest[] = [];
  return { asked, doorman: new Doorman((request) => asked.push(request), { verdictMs }) };
}

const kindOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "let in",
    (error: unknown) => (error instanceof Refused ? error.kind : String(error)),
  );

test("each question gets its own answer, in whatever order they come", async () => {
  const { asked, doorman } = open();
  const [first, second] = [doorman.authorize(QUESTION), doorman.authorize({ ...QUESTION, action: "play" })];
  const [a, b] = asked;
  assert.ok(a && b && a.id !== b.id);
  assert.deepEqual({ ...a, id: 0 }, { type: "authorize", id: 0, ...QUESTION });
  doorman.settle({ type: "verdict", id: b.id, refusal: { kind: "forbidden", detail: "not yours" }, recording: null });
  doorman.settle({ type: "verdict", id: a.id, refusal: null, recording: "r1" });
  assert.deepEqual(await first, { recording: "r1", isOwn: false });
  await assert.rejects(second, { kind: "forbidden", detail: "not yours", message: "not yours" });
});

test("a server that does not answer lets nobody in, and what it says too late does nothing", async () => {
  const { asked, doorman } = open(5);
  assert.equal(await kindOf(doorman.authorize(QUESTION)), "unavailable");
  doorman.settle({ type: "verdict", id: asked[0]?.id ?? 0, refusal: null, recording: null });
  doorman.settle({ type: "verdict", id: 999, refusal: null, recording: null });
});

test("at the end nobody waits on, and nobody is asked for any more", async () => {
  const { asked, doorman } = open();
  const waiting = kindOf(doorman.authorize(QUESTION));
  doorman.close();
  assert.equal(await waiting, "unavailable");
  assert.equal(await kindOf(doorman.authorize(QUESTION)), "unavailable");
  assert.equal(asked.length, 1);
});

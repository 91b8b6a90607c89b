import assert from "node:assert/strict";
import { test } from "node:test";
import { Judge, type Verdict } from "./judge.ts";

const RULE = { restarts: 2, windowMs: 10_000, firstMs: 100, maxMs: 1000 };
const at = (nowMs: number, more = {}) => ({ isFile: false, hasFlowed: true, nowMs, random: 1, ...more });
const crash = { kind: "crash", detail: "SIGSEGV" } as const;
const gone = { kind: "source", detail: "refused" } as const;
const codeOf = (verdict: Verdict) => ("state" in verdict ? (verdict.error?.code ?? verdict.state) : "again");

test("an end of stream and a wished stop are the end, a graph that does not compile is a failure", () => {
  const judge = new Judge(RULE, 1000);
  const ends = [{ kind: "finished" }, { kind: "stopped" }, { kind: "graph", detail: "" }] as const;
  assert.deepEqual(
    ends.map((end) => codeOf(judge.judge(end, at(0)))),
    ["finished", "finished", "pipeline_failed"],
  );
});

test("crashes are followed by restarts with growing waits, until there were too many", () => {
  const judge = new Judge(RULE, 1000);
  assert.deepEqual(judge.judge(crash, at(0)), { waitMs: 100, isCrash: true });
  assert.deepEqual(judge.judge(crash, at(1)), { waitMs: 200, isCrash: true });
  const last = judge.judge(crash, at(2));
  assert.ok("state" in last && last.error !== null);
  assert.equal(last.state, "failed");
  assert.match(last.error.detail, /more than 2 times within 10 s.*SIGSEGV/);
});

test("a crash now and then is never too many", () => {
  const judge = new Judge(RULE, 1000);
  for (let i = 0; i < 50; i++) assert.equal(codeOf(judge.judge(crash, at(i * 6000))), "again");
});

test("a live source that a new run cannot reach is tried again until patience ends, and is no crash", () => {
  const judge = new Judge(RULE, 1000);
  assert.deepEqual(judge.judge(gone, at(0, { hasFlowed: false })), { waitMs: 100, isCrash: false });
  assert.deepEqual(judge.judge(gone, at(500, { hasFlowed: false })), { waitMs: 200, isCrash: false });
  assert.equal(judge.patienceMs(600), 400);
  assert.equal(codeOf(judge.judge(gone, at(1000, { hasFlowed: false }))), "source_not_live");
});

test("patience begins anew once data has come", () => {
  const judge = new Judge(RULE, 1000);
  judge.judge(gone, at(0, { hasFlowed: false }));
  judge.noteFlowing();
  assert.equal(codeOf(judge.judge(gone, at(5000, { hasFlowed: false }))), "again");
});

test("a source that the runner had and gave up has failed, and so has a file that cannot be read", () => {
  const judge = new Judge(RULE, 1000);
  assert.equal(codeOf(judge.judge(gone, at(0))), "source_not_live");
  assert.equal(codeOf(judge.judge(gone, at(0, { isFile: true, hasFlowed: false }))), "pipeline_failed");
});

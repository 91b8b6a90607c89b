import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { childCommand } from "../test/child.fixture.ts";
import { NO_HANG } from "./pipeline.fixture.ts";

const CHILD = childCommand(new URL("exit.child.ts", import.meta.url));
/** Longer than a closing environment waits for its pipelines. */
const LIMIT_MS = 30_000;

interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly errors: string;
}

async function end(mode: string, kill?: NodeJS.Signals): Promise<Ending> {
  const child = spawn(process.execPath, [...CHILD, mode], { stdio: ["ignore", "pipe", "pipe"] });
  const late = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  let out = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    if (kill !== undefined && out.includes("ready")) child.kill(kill);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  clearTimeout(late);
  return { code, signal, out, errors };
}

for (const [behaviour, mode, code, out, errors] of [
  ["process.exit while playing ends at once with its code", "exit", 3, /^$/, /^$/],
  ["process.exit while an element starts ends at once", "exit while starting", 3, /^$/, /^$/],
  ["an uncaught error ends the process", "throw", 1, /^$/, /uncaught/],
  ["a process whose pipelines are closed exits", "close", 0, /"metadata":0,"calls":0,"instances":0/, /^$/],
  ["a pipeline that does not play does not keep the process alive", "forget what is built", 0, /^$/, /^$/],
  ["a pipeline that plays keeps the process alive", "forget what plays", 4, /^$/, /^$/],
  [
    "a worker that is terminated, exits or throws while playing ends alone",
    "end workers",
    0,
    /3\nuncaught\nmain plays/,
    /^$/,
  ],
  ["the addon survives the worker that loaded it", "workers one after the other", 0, /worker 0\n(.*\n)?worker 0/, /^$/],
  ["two workers receive their own frames", "two workers at once", 0, /\[200,200\]/, /^$/],
  ["process.exit ends a process whose workers play", "exit with workers", 3, /^$/, /^$/],
] as const)
  test(behaviour, NO_HANG, async () => {
    const ending = await end(mode);
    assert.deepEqual([ending.code, ending.signal], [code, null], JSON.stringify(ending));
    assert.match(ending.out, out);
    assert.match(ending.errors, errors);
  });

test("SIGTERM ends a playing process", NO_HANG, async () => {
  const { code, signal, errors } = await end("wait", "SIGTERM");
  assert.deepEqual([code, signal, errors], [null, "SIGTERM", ""]);
});

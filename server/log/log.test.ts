import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Logger } from "pino";
import { openLog } from "./log.ts";

/** The contents of a log after `write`. */
async function logged(write: (log: Logger) => void, isTTY = false): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "windhover-log-"));
  const fd = openSync(join(folder, "log"), "w");
  try {
    const log = openLog({ level: "info", access: true }, { fd, isTTY }, { NO_COLOR: "1" });
    write(log.logger);
    await log.close();
    return readFileSync(join(folder, "log"), "utf8");
  } finally {
    closeSync(fd);
    await rm(folder, { recursive: true });
  }
}

const KEY = "wh_ab12_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const URL_WITH_PASSWORD = "rtsp://admin:hunter2@cam-3/main";

test("writes JSON, and text lines in a terminal", async () => {
  const write = (log: Logger) => log.info({ port: 8080, words: "two words" }, 'it is "up"');
  const [line = ""] = (await logged(write)).trimEnd().split("\n");
  const { time, ...rest } = JSON.parse(line);
  assert.equal(typeof time, "number");
  assert.deepEqual(rest, { level: 30, port: 8080, words: "two words", msg: 'it is "up"' });
  assert.match(await logged(write, true), /^\d\d:\d\d:\d\d info {2}it is "up" port=8080 words="two words"\n$/);
});

const LEAKS: readonly (readonly [what: string, write: (log: Logger) => void])[] = [
  ["a message", (log) => log.info(`cannot reach ${URL_WITH_PASSWORD} with ${KEY}`)],
  ["a field", (log) => log.info({ url: URL_WITH_PASSWORD, deep: { list: [KEY, URL_WITH_PASSWORD] } }, "x")],
  ["a quoted query", (log) => log.info(`GET "/feed?api_key=${KEY}"`)],
  ["a field by its name", (log) => log.info({ headers: { api_key: "hunter2", authorization: "hunter2" } }, "x")],
  ["an error", (log) => log.error(new Error(`no answer of ${URL_WITH_PASSWORD}`, { cause: new Error(KEY) }))],
  ["an error in a field", (log) => log.error({ err: new Error(KEY), other: new Error(URL_WITH_PASSWORD) }, "x")],
  ["a child", (log) => log.child({ url: URL_WITH_PASSWORD, key: KEY }).info("x")],
  ["a child of a child", (log) => log.child({ a: 1 }).child({ url: URL_WITH_PASSWORD, key: KEY }).info("x")],
];

for (const [what, write] of LEAKS) {
  test(`masks secrets in ${what}`, async () => {
    for (const isTTY of [false, true]) {
      const text = await logged(write, isTTY);
      assert.notEqual(text, "");
      assert.doesNotMatch(text, /hunter2|0123456789abc/);
      if (!isTTY) assert.doesNotThrow(() => JSON.parse(text));
    }
  });
}

test("an error keeps its stack, its cause and its own fields", async () => {
  const error = Object.assign(new Error("outer", { cause: new Error("inner") }), { code: "E_X" });
  const line = JSON.parse(await logged((log) => log.error(error)));
  assert.equal(line.err.code, "E_X");
  assert.match(line.err.stack, /log\.test/);
  assert.equal(line.err.cause.message, "inner");
  assert.match(await logged((log) => log.error(error), true), /Error: inner/);
});

const LOG = new URL("./log.ts", import.meta.url).href;
const ENDS: readonly (readonly [how: string, code: string])[] = [
  ["exits at once", "process.exit(3)"],
  ["fails", 'throw new Error("a fault")'],
  ["has nothing more to do", ""],
];
for (const [how, code] of ENDS) {
  test(`no line is lost when the process ${how}`, () => {
    const write = "for (let i = 0; i < 500; i++) logger.info({ i });";
    const script = `import { openLog } from ${JSON.stringify(LOG)};
      const { logger } = openLog({ level: "info", access: true }); ${write} ${code}`;
    const { stderr } = spawnSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
      encoding: "utf8",
    });
    assert.equal(stderr.match(/^\{"level":30,"time":\d+,"i":\d+\}$/gm)?.length, 500, stderr.slice(-1000));
  });
}

test("writes a fatal line and those before it at once", async ({ mock }) => {
  const folder = await mkdtemp(join(tmpdir(), "windhover-log-"));
  const path = join(folder, "log");
  const fd = openSync(path, "w");
  mock.timers.enable({ apis: ["setTimeout"] }); // batched lines stay batched
  try {
    const log = openLog({ level: "info", access: true }, { fd });
    log.logger.info("before");
    log.logger.fatal("last");
    while (!readFileSync(path, "utf8").includes("last")) await new Promise((resolve) => setImmediate(resolve));
    assert.match(readFileSync(path, "utf8"), /before.*\n.*last/);
    await log.close();
  } finally {
    closeSync(fd);
    await rm(folder, { recursive: true });
  }
});

/**
 * Loaded by every test process. Waits until it may run, and ends when it takes too long. At exit it kills remaining child
 * processes, also when a file failed to load and its hooks never ran, and records the processor time.
 */
import { createHook } from "node:async_hooks";
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { postponeOptimising } from "./load.mjs";
import { takeSlot } from "./test-slots.mjs";

/** USER_HZ: the unit of times in /proc. */
const TICKS_PER_SECOND = 100;
const KEPT_PROMISES = 2 ** 16;
const { TEST_CPU_FILE, TEST_SLOTS, TEST_FILE_MS } = process.env;

postponeOptimising();
forgetOldPromises();

process.once("exit", () => {
  for (const pid of listChildren("self")) endProcess(pid);
  recordCpu(process.argv[1], readCpuSeconds("self"));
});

// Without a handler there would be no "exit" event.
process.once("SIGTERM", () => process.exit(143));

if (TEST_SLOTS !== undefined) await takeSlot(TEST_SLOTS);
// Not by `--test-timeout`, which would include the wait for a slot.
if (TEST_FILE_MS !== undefined) setTimeout(() => process.exit(124), Number(TEST_FILE_MS)).unref();

/**
 * Runs test files of a shared process one after the other. Each is loaded when those before it have ended, as a suite of its
 * own: what it opens at its top level is closed after its last test, and does not poll beside the tests of other files.
 *
 * @param {readonly (readonly [name: string, path: string])[]} files
 */
export function runInTurn(files) {
  for (const [name, path] of files)
    test(name, async () => {
      const before = readTreeSeconds();
      await describe(name, () => import(path));
      recordCpu(name, readTreeSeconds() - before);
    });
}

/** @param {string} name of a module, or of a file in a shared process */
function recordCpu(name, seconds) {
  if (TEST_CPU_FILE !== undefined) appendFileSync(TEST_CPU_FILE, `${JSON.stringify([name, seconds])}\n`);
}

/** Exits: handles opened before the failure would keep the process alive. */
export function failToLoad(error) {
  console.error(error);
  process.exit(1);
}

/**
 * Node's test runner maps every promise to its test until it is collected. To be notified of that costs half of the
 * processor time of asynchronous code: here the oldest are forgotten instead, in any order of collection. An uncaught error
 * that began in a forgotten one fails its file instead of its test.
 */
function forgetOldPromises() {
  const prototype = Object.getPrototypeOf(createHook({}));
  const { enable } = prototype;
  prototype.enable = function () {
    const read = (name) => this[Object.getOwnPropertySymbols(this).find((key) => key.description === name)];
    const [init, destroy] = [read("init"), read("destroy")];
    const isOfTestRunner = init && destroy && !read("before") && !read("after");
    if (!isOfTestRunner) return enable.call(this);
    const ids = new Float64Array(KEPT_PROMISES);
    let count = 0;
    enable.call(
      createHook({
        init(id, type, trigger, resource) {
          init(id, type, trigger, resource);
          if (type === "Test") return;
          const at = count++ % KEPT_PROMISES;
          destroy(ids[at]);
          ids[at] = id;
        },
      }),
    );
    return this;
  };
}

/** A thread may end meanwhile, and another one has its children then. Empty when the process has ended. */
function listChildren(pid) {
  const read = (thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
  for (let tries = 10; ; tries--)
    try {
      return readdirSync(`/proc/${pid}/task`).flatMap((thread) => read(thread).split(" ").filter(Boolean).map(Number));
    } catch (error) {
      if (!["ENOENT", "ESRCH"].includes(error.code)) throw error;
      if (tries === 0 || !existsSync(`/proc/${pid}`)) return [];
    }
}

function endProcess(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** Of a process and its ended children: /proc/PID/stat, after the name, which may contain spaces. Zero when it has ended. */
function readCpuSeconds(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

/** Of this process and all below it. Times of a process that ended without its parent are lost. */
function readTreeSeconds() {
  const below = (pid) => listChildren(pid).reduce((sum, child) => sum + below(child), readCpuSeconds(pid));
  return below("self");
}

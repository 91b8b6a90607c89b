/**
 * Loaded by every test process. Waits until it may run, and ends when it takes too long. At exit it kills remaining child
 * processes, also when a file failed to load and its hooks never ran, and records the processor time.
 */
import { createHook } from "node:async_hooks";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
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
  for (const pid of listChildren()) endProcess(pid);
  if (TEST_CPU_FILE === undefined) return;
  appendFileSync(TEST_CPU_FILE, `${JSON.stringify([process.argv[1], readCpuSeconds()])}\n`);
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
  for (const [name, path] of files) test(name, () => describe(name, () => import(path)));
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

/** A thread may end meanwhile, and another one has its children then. */
function listChildren() {
  const read = (thread) => readFileSync(`/proc/self/task/${thread}/children`, "utf8");
  for (let tries = 10; ; tries--)
    try {
      return readdirSync("/proc/self/task").flatMap((thread) => read(thread).split(" ").filter(Boolean).map(Number));
    } catch (error) {
      if (tries === 0 || !["ENOENT", "ESRCH"].includes(error.code)) throw error;
    }
}

function endProcess(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** Of this process and its ended children: /proc/self/stat, after the name, which may contain spaces. */
function readCpuSeconds() {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / TICKS_PER_SECOND;
}

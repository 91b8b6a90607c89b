/**
 * Loaded by every test process. Waits until it may run, and ends when it takes too long. At exit it kills remaining child
 * processes, also when a file failed to load and its hooks never ran, and records the processor time.
 */
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { postponeOptimising } from "./load.mjs";
import { takeSlot } from "./test-slots.mjs";

/** USER_HZ: the unit of times in /proc. */
const TICKS_PER_SECOND = 100;
const { TEST_CPU_FILE, TEST_SLOTS, TEST_FILE_MS } = process.env;

postponeOptimising();

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

/** Exits: handles opened before the failure would keep the process alive. */
export function failToLoad(error) {
  console.error(error);
  process.exit(1);
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

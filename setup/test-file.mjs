/**
 * What each process with tests does besides running them: nothing that they started outlives it, also where a file failed
 * while it was loaded, before its hooks could end anything; and its processor time is written down.
 */
import { appendFileSync, readdirSync, readFileSync } from "node:fs";

/** Linux counts in hundredths of a second, whatever its own clock does. */
const TICKS_A_SECOND = 100;
const { TEST_CPU_FILE } = process.env;

process.once("exit", () => {
  for (const pid of listChildren()) endProcess(pid);
  if (TEST_CPU_FILE === undefined) return;
  appendFileSync(TEST_CPU_FILE, `${JSON.stringify([process.argv[1], readCpuSeconds()])}\n`);
});

// A file that takes too long is ended so; without a handler there would be no "exit".
process.once("SIGTERM", () => process.exit(143));

/** What was started before it failed would keep the process alive. */
export function failToLoad(error) {
  console.error(error);
  process.exit(1);
}

function listChildren() {
  const read = (thread) => readFileSync(`/proc/self/task/${thread}/children`, "utf8");
  return readdirSync("/proc/self/task").flatMap((thread) => read(thread).split(" ").filter(Boolean).map(Number));
}

function endProcess(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** Of this process and of those children that have ended: /proc/self/stat, after the name, which may hold spaces. */
function readCpuSeconds() {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / TICKS_A_SECOND;
}

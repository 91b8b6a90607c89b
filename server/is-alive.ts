import { readFileSync } from "node:fs";

/**
 * Whether a process of that number runs, of any user. One that has ended and was not waited for by its parent
 * still has its number, but does not run: in containers whose first process does not wait for children it stays so for ever.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return !hasEnded(pid);
}

/** The state follows the name, which is in parentheses and may hold anything: proc(5). */
function hasEnded(pid: number): boolean {
  try {
    return /^.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

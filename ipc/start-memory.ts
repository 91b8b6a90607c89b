/** Frees the garbage of starting a process: V8 does it only when the heap grows, which an idle process never does. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** After this time the start is over, also for what it began in the background. */
const DELAY_MS = 5_000;

/** Once, later: about 20 ms of the main thread for each 50 MB. `release` then returns what the allocator of C has free. */
export function freeStartMemory(release: () => void = () => {}): void {
  setTimeout(() => {
    setFlagsFromString("--expose-gc");
    (runInNewContext("gc") as () => void)();
    release();
  }, DELAY_MS).unref();
}

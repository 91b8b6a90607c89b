/** A runner's life: loads everything, says hello, does what the server asks, and never outlives it. */
import { loadElements } from "../../../elements/index.ts";
import { allowConnections, closeAutoplug } from "../../../native/gstreamer.ts";
import { RUNNER_PROTOCOL, type RunnerMessage } from "../../../schemas/runner.ts";
import { within } from "../limits.ts";
import { loadRegistry } from "../registry.ts";
import { Outbox } from "./outbox.ts";
import { Requests } from "./requests.ts";
import { Runner } from "./runner.ts";
import { warmUp } from "./warm-up.ts";

/** What the server has not read by then it never will. */
const FAREWELL_MS = 1_000;
/** Without a server everything is closed within this time, or not at all. */
const ORPHAN_MS = 3_000;

if (process.send === undefined) {
  process.stderr.write("this is a runner of Windhover: `windhover serve` starts it; run graphs with `windhover run`\n");
  process.exit(2);
}

// A Ctrl-C in the terminal reaches all of its processes, a service manager's signal too: it is the server that ends its
// runners, in order.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

const outbox = new Outbox((message, done) => {
  if (process.connected) process.send?.(message, undefined, undefined, done);
  else done();
});
const tell = (message: RunnerMessage): void => outbox.put(message);

let runner: Runner | undefined;
let hasCrashed = false;
const received: unknown[] = [];
const early = (message: unknown): void => void received.push(message);
process.on("message", early);
process.once("disconnect", endAsOrphan);

// What an element leaves to itself (a timer, a promise that nobody awaits) has no frame that it could fail. Without this
// only the exit code would say that it happened.
for (const event of ["uncaughtException", "unhandledRejection"] as const)
  process.on(event, (thrown: unknown) => {
    process.stderr.write(`${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`);
    if (runner === undefined || hasCrashed) process.exit(1);
    hasCrashed = true;
    setTimeout(() => process.exit(1), FAREWELL_MS);
    runner.crash(thrown);
  });

closeAutoplug();
allowConnections([]);
const elements = await loadElements();
await Promise.all([...elements.values()].map((element) => element.preload?.()));
const registry = loadRegistry();
warmUp({ elements, registry });
runner = new Runner({ elements, registry }, tell, () => outbox.dropped);
const requests = new Requests(runner, tell);
tell({ type: "hello", protocol: RUNNER_PROTOCOL, pid: process.pid });
process.off("message", early);
process.on("message", (message) => requests.take(message));
for (const message of received) requests.take(message);

await runner.over;
await within(
  FAREWELL_MS,
  "the last answers were not read",
  requests.idle().then(() => outbox.empty()),
).catch(() => {});
process.exit(0);

/** The server is gone: so is whoever wanted this. */
function endAsOrphan(): void {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), ORPHAN_MS).unref();
  if (runner === undefined) process.exit(0);
  void runner.stop().finally(() => process.exit(0));
}

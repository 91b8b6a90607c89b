/** The process of a runner: loads elements, sends `hello`, handles requests, and ends with the server. */
import { loadElements } from "../../../elements/index.ts";
import { allowConnections, closeAutoplug } from "../../../native/gstreamer.ts";
import { RUNNER_PROTOCOL, type RunnerMessage } from "../../../schemas/runner.ts";
import { withTimeout } from "../limits.ts";
import { loadRegistry } from "../registry.ts";
import { warmUp } from "./compile-job.ts";
import { Outbox } from "./outbox.ts";
import { Requests } from "./requests.ts";
import { Runner } from "./runner.ts";

/** For the last messages to be written before the exit. */
const FLUSH_MS = 1_000;
/** For closing everything after the server disconnected; then the process is killed. */
const ORPHAN_MS = 3_000;

if (process.send === undefined) {
  process.stderr.write("This is a runner, started by `windhover serve`. Run graphs with `windhover run`.\n");
  process.exit(2);
}

// Ctrl-C and signals of a service manager reach all processes of the group; the server ends its runners in order.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

const outbox = new Outbox((message, done) => {
  if (process.connected) process.send?.(message, undefined, undefined, done);
  else done();
});
const send = (message: RunnerMessage): void => outbox.put(message);

let runner: Runner | undefined;
let hasCrashed = false;
const received: unknown[] = [];
const early = (message: unknown): void => void received.push(message);
process.on("message", early);
process.once("disconnect", endAsOrphan);

// Errors in timers and unawaited promises of elements are outside of any frame; report them before the exit.
for (const event of ["uncaughtException", "unhandledRejection"] as const)
  process.on(event, (thrown: unknown) => {
    process.stderr.write(`${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`);
    if (runner === undefined || hasCrashed) process.exit(1);
    hasCrashed = true;
    setTimeout(() => process.exit(1), FLUSH_MS);
    runner.crash(thrown);
  });

closeAutoplug();
allowConnections([]);
const elements = await loadElements();
await Promise.all([...elements.values()].map((element) => element.preload?.()));
const registry = loadRegistry();
warmUp({ elements, registry });
runner = new Runner({ elements, registry }, send, () => outbox.dropped);
const requests = new Requests(runner, send);
send({ type: "hello", protocol: RUNNER_PROTOCOL, pid: process.pid });
process.off("message", early);
process.on("message", (message) => requests.receive(message));
for (const message of received) requests.receive(message);

await runner.over;
await withTimeout(
  FLUSH_MS,
  "the last messages were not written",
  requests.idle().then(() => outbox.empty()),
).catch(() => {});
process.exit(0);

/** The server has disconnected. */
function endAsOrphan(): void {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), ORPHAN_MS).unref();
  if (runner === undefined) process.exit(0);
  void runner.stop().finally(() => process.exit(0));
}

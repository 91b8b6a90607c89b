/** The process of a runner: loads elements, sends `hello`, handles requests, and ends with the server. */
import { loadElements, omitTaken } from "../../../elements/index.ts";
import { connectToParent, exitWhenWritten, sayHello } from "../../../ipc/parent.ts";
import { freeStartMemory } from "../../../ipc/start-memory.ts";
import { allowConnections, closeAutoplug, releaseMemory } from "../../../native/gstreamer.ts";
import { readFolders } from "../../../schemas/folders.ts";
import { RUNNER_PROTOCOL, type RunnerMessage, RunnerRequest } from "../../../schemas/runner.ts";
import { FileWatch } from "../file-watch.ts";
import { loadRegistry } from "../registry.ts";
import { warmUp } from "./compile-job.ts";
import { Runner } from "./runner.ts";

/** For the report of a crash to be written before the exit. */
const CRASH_MS = 1_000;
/** A runner that was loaded for a job has received it by then. */
const WARM_UP_MS = 1_000;

let runner: Runner | undefined;
let hasCrashed = false;
/** How to close what elements have opened ahead of their graph. Null: the graph has started. */
let warm: (() => Promise<void>)[] | null = [];

function addWarm(close: () => Promise<void>): void {
  if (warm === null) void close();
  else warm.push(close);
}

function afterStart(): void {
  for (const close of warm ?? []) void close();
  warm = null;
  freeStartMemory(releaseMemory);
}

const channel = connectToParent<RunnerMessage, RunnerRequest>({
  program: "a runner, started by `windhover serve`. Run graphs with `windhover run`.",
  receives: RunnerRequest,
  droppable: ["message", "progress", "attachment", "kept", "element", "log"],
  onRequest: async (request) => {
    // The server waits for `hello`.
    if (runner === undefined) throw new Error("the runner is not loaded yet");
    const reply = runner.request(request);
    return request.type === "start" ? reply.finally(afterStart) : reply;
  },
  onMessage: (message) => {
    if (message.type === "lease") runner?.extendLease(message.untilMs);
  },
  onInvalid: (fault) => channel.send({ type: "log", level: "warn", node: "", message: `ignored: ${fault}` }),
  onOrphan: () => {
    if (runner === undefined) process.exit(0);
    void runner.stop().finally(() => process.exit(0));
  },
});

// Errors in timers and unawaited promises of elements are outside of any frame; report them before the exit.
for (const event of ["uncaughtException", "unhandledRejection"] as const)
  process.on(event, (thrown: unknown) => {
    process.stderr.write(`${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`);
    if (runner === undefined || hasCrashed) process.exit(1);
    hasCrashed = true;
    setTimeout(() => process.exit(1), CRASH_MS);
    runner.crash(thrown);
  });

/** GStreamer loads the library of an element when it is first used: those of the usual files and cameras are large. */
const PLUGINS = ["qtdemux", "h264parse", "avdec_h264", "rtspsrc", "rtpjitterbuffer", "rtph264depay"];

function loadPlugins(): void {
  for (const name of PLUGINS) registry.get(name);
}

closeAutoplug();
allowConnections([]);
const registry = loadRegistry();
const elements = omitTaken(await loadElements(), registry);
runner = new Runner({ elements, registry }, channel);
sayHello(RUNNER_PROTOCOL);
const { built, isWatched } = readFolders();
if (built !== null && isWatched) new FileWatch(() => void runner?.reloadElements()).follow([built]);
// Only while it waits for a job, which does the same itself.
setTimeout(() => {
  if (runner?.isIdle !== true) return;
  warmUp({ elements, registry });
  loadPlugins();
  // An element that cannot warm up reports the reason when it is created.
  const loading = [...elements.values()].flatMap((element) => [element.preload?.(), element.warmUp?.().then(addWarm)]);
  Promise.allSettled(loading).then(() => freeStartMemory(releaseMemory));
}, WARM_UP_MS).unref();

await runner.over;
await exitWhenWritten(channel, 0);

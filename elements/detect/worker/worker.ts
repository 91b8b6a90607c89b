/** An inference worker: one model, one thread. onnxruntime blocks the calling thread, so it gets its own. */
import { readlinkSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { type Answer, Gate, type Order, type WorkerSettings } from "./messages.ts";
import { loadNetwork, type Network } from "./network.ts";

const settings = workerData as WorkerSettings;
const port = parentPort;
if (port === null) throw new Error("this module runs in a worker thread only");
const gate = new Gate(settings.gate);

const answer = (message: Answer, transfer: readonly ArrayBuffer[] = []): void => port.postMessage(message, transfer);
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Undefined if the gate is shut: this thread is about to be terminated. */
async function inside<T>(work: () => Promise<T>): Promise<T | undefined> {
  if (!gate.enter()) return undefined;
  try {
    return await work();
  } finally {
    gate.leave();
  }
}

async function infer(network: Network, { id, slot, minimum, overlap }: Order): Promise<void> {
  const startedNs = process.hrtime.bigint();
  const startedMs = performance.now();
  const candidates = await inside(() => network.infer(slot, minimum, overlap));
  if (candidates === undefined) return;
  const { boxes, scores, classIds } = candidates;
  const inferenceMs = performance.now() - startedMs;
  answer({ kind: "found", id, candidates, startedNs, inferenceMs }, [
    boxes.buffer,
    scores.buffer,
    classIds.buffer,
  ] as ArrayBuffer[]);
}

async function start(): Promise<Network | undefined> {
  const warnings: string[] = [];
  const network = await inside(() => loadNetwork(settings, (warning) => warnings.push(warning)));
  if (network === undefined) return undefined;
  const inferenceMs = settings.trialMs ?? (await measure(network));
  answer({ kind: "ready", inferenceMs, warnings, task: findTask() });
  return network;
}

/** The first run allocates and is slow: no frame should wait for it. The second measures the duration. */
async function measure(network: Network): Promise<number> {
  await inside(() => network.run());
  const startedMs = performance.now();
  await inside(() => network.run());
  return performance.now() - startedMs;
}

function findTask(): string | null {
  try {
    return `/proc/${readlinkSync("/proc/thread-self")}`;
  } catch {
    return null;
  }
}

const starting = start();
starting.catch((error) => answer({ kind: "refused", reason: reasonOf(error) }));
let queue: Promise<unknown> = starting;
port.on("message", (order: Order) => {
  queue = queue
    .then(() => starting)
    .then((network) => network && infer(network, order))
    .catch((error) => answer({ kind: "failed", reason: reasonOf(error) }));
});

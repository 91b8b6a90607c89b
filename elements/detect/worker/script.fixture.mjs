/**
 * A worker that misbehaves by script. `model.script` is shared memory: the next position, then one act per start and per
 * request, across all workers started one after the other. After its end every act is `well`.
 */
import { readlinkSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";

const NEXT = 0;
const script = new Int32Array(workerData.model.script);
const nextAct = () => script[1 + Atomics.add(script, NEXT, 1)] ?? 0;
const gate = new Int32Array(workerData.gate);

/** In the order of ACTS in script.fixture.ts. */
const acts = [
  (well) => well(),
  () => parentPort.postMessage({ kind: "failed", reason: "scripted failure" }),
  () => {
    throw new Error("scripted throw");
  },
  () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  () => process.exit(7),
  () => parentPort.postMessage({ kind: "refused", reason: "scripted refusal" }),
  // As if native code did not return: the gate is occupied.
  () => {
    Atomics.store(gate, 1, 1);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
];
const act = (well) => acts[nextAct()](well);

/** One candidate whose box is the first values of the slot, which identify the slot and its content. */
function answer({ id, slot }) {
  const boxes = Float32Array.from(new Uint8Array(workerData.slots[slot]).subarray(0, 4));
  const candidates = { count: 1, boxes, scores: Float32Array.of(0.9), classIds: Int32Array.of(0) };
  parentPort.postMessage({ kind: "found", id, candidates, startedNs: process.hrtime.bigint(), inferenceMs: 1 });
}

parentPort.on("message", (order) => act(() => answer(order)));
const task = `/proc/${readlinkSync("/proc/thread-self")}`;
act(() => parentPort.postMessage({ kind: "ready", inferenceMs: 1, warnings: [], task }));

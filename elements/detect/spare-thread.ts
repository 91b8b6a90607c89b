/**
 * Inference threads that have opened their model before a graph asks for it: the start of a graph then waits neither for
 * onnxruntime nor for the model. JS thread.
 */
import type { Model } from "../../models/open.ts";
import { InferenceThread, type ThreadListener } from "./inference-thread.ts";
import { sizeOf } from "./worker/model-input.ts";

const WORKER = new URL("worker/worker.mjs", import.meta.url);

export interface ThreadOrder {
  readonly model: Model;
  readonly threads: number;
  readonly providers: readonly string[];
  /** Number of tensors, filled or waiting. */
  readonly slots: number;
  readonly startLimitMs: number;
  /** Replaces the worker module, in tests. */
  readonly worker?: URL;
}

/** A thread, and the tensors that it reads. */
export interface OpenThread {
  readonly thread: InferenceThread;
  readonly memory: readonly SharedArrayBuffer[];
}

/** Rejects as `InferenceThread.start` does. `before`: the tensors and the duration of an inference of a former thread. */
export async function openThread(
  { model, threads, providers, slots, startLimitMs, worker = WORKER }: ThreadOrder,
  signal: AbortSignal,
  owner: ThreadListener | null,
  before?: { readonly memory: readonly SharedArrayBuffer[]; readonly trialMs: number },
): Promise<OpenThread> {
  const memory = before?.memory ?? makeMemory(model, slots);
  const settings = { model, threads, providers, slots: memory, ...(before && { trialMs: before.trialMs }) };
  return { thread: await InferenceThread.start(worker, settings, startLimitMs, signal, owner), memory };
}

const makeMemory = ({ card }: Model, slots: number): readonly SharedArrayBuffer[] =>
  Array.from({ length: slots }, () => new SharedArrayBuffer(sizeOf(card.input)));

interface Spare {
  readonly key: string;
  readonly opening: Promise<OpenThread | null>;
}

const spares = new Set<Spare>();

/** Begins to open a thread. The result closes it, unless it was taken; it never rejects. */
export function openSpare(order: ThreadOrder): () => Promise<void> {
  const closing = new AbortController();
  const opening = openThread(order, closing.signal, null).catch(() => null); // the next caller gets the reason
  const spare = { key: keyOf(order), opening };
  spares.add(spare);
  return async () => {
    if (!spares.delete(spare)) return;
    closing.abort();
    await (await opening)?.thread.retire();
  };
}

/** Null: none was opened for this order, or it has ended. */
export async function takeSpare(order: ThreadOrder): Promise<OpenThread | null> {
  const key = keyOf(order);
  const spare = [...spares].find((one) => one.key === key);
  if (spare === undefined) return null;
  spares.delete(spare);
  const open = await spare.opening;
  return open?.thread.isOver === false ? open : null;
}

/** The file of a converted model is named after its content. */
const keyOf = ({ model, threads, providers, slots, worker = WORKER }: ThreadOrder): string =>
  JSON.stringify([model.file, model.card.sha256, threads, providers, slots, worker.href]);

/** A model in onnxruntime, from tensors in shared memory to candidates. Within a worker only: all of it blocks. */
import type { InferenceSession } from "onnxruntime-node";
import {
  type Candidates,
  createDecoder,
  findsOften,
  type Outputs,
  type TensorInfo,
} from "../../../models/decode/decoder.ts";
import { suppress } from "../../../models/decode/suppress.ts";
import { loadOnnxruntime } from "../../../models/onnxruntime.ts";
import { openSession } from "../../../models/session.ts";
import type { WorkerSettings } from "./messages.ts";
import { findInputs, shapeOf, sizeOf, viewTensor } from "./model-input.ts";

/** Objects of one look at most. */
const MAX_OBJECTS = 300;
/** Candidates that speak for a better one are read from here on, whatever score is asked for. */
const FAINTEST = 0.01;

export interface Network {
  /** Runs on what the input holds. */
  run(): Promise<Outputs>;
  /** Copies a slot into the input, runs, and reads the outputs; some may be below `minimum`. Throws for outputs that are no numbers. */
  look(slot: number, minimum: number, overlap: number): Promise<Candidates>;
}

type Warn = (warning: string) => void;

/** Throws with what is wrong with the model, its card or the providers asked for. */
export async function loadNetwork(settings: WorkerSettings, warn: Warn = () => {}): Promise<Network> {
  const { card, labels, file } = settings.model;
  const { threads, providers } = settings;
  const session = await openSession({ onnx: file, isConverted: card.convert !== undefined, threads, providers }, warn);
  const { Tensor } = await loadOnnxruntime();
  const names = findInputs(card, session.inputMetadata.map(readInfo));
  const decoder = createDecoder(card, labels.length, session.outputMetadata.map(readInfo));
  const isFoundOften = findsOften(card);
  const { width, height, type } = card.input;
  const input = viewTensor(card.input, new ArrayBuffer(sizeOf(card.input)));
  const views = settings.slots.map((slot) => viewTensor(card.input, slot));
  const feeds: Record<string, InstanceType<typeof Tensor>> = {
    [names.picture]: new Tensor(type, input, shapeOf(card.input)),
    ...(names.size && { [names.size]: new Tensor("int64", BigInt64Array.of(BigInt(width), BigInt(height)), [1, 2]) }),
  };
  const run = async (): Promise<Outputs> => (await session.run(feeds)) as unknown as Outputs;
  return {
    run,
    async look(slot, minimum, overlap) {
      const view = views[slot];
      if (view === undefined) throw new Error(`there is no slot ${slot}, only ${views.length} of them`);
      input.set(view);
      const outputs = await run();
      expectNumbers(outputs);
      const candidates = decoder.decode(outputs, isFoundOften ? Math.min(minimum, FAINTEST) : minimum);
      return suppress(candidates, { overlap, limit: MAX_OBJECTS, isFoundOften });
    },
  };
}

const readInfo = (info: InferenceSession.ValueMetadata): TensorInfo =>
  info.isTensor ? info : { name: info.name, type: "no tensor", shape: [] };

/** Values of an output that are looked at: a network that has gone wrong is wrong in more than one of them. */
const MAX_LOOKED_AT = 4096;

/** Throws when an output holds values that are no numbers: nothing that is read from it would mean anything. */
export function expectNumbers(outputs: Outputs): void {
  for (const [name, { data }] of Object.entries(outputs)) {
    if (!(data instanceof Float32Array)) continue;
    // Odd, so that it does not keep to one column of a table.
    const step = Math.ceil(data.length / MAX_LOOKED_AT) | 1;
    for (let i = 0; i < data.length; i += step)
      if (Number.isNaN(data[i])) throw new Error(`the model gave NaN in its output ${name}`);
  }
}

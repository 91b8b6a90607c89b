/** A model in onnxruntime, from tensors in shared memory to candidates. For worker threads only: all calls block. */
import type { InferenceSession } from "onnxruntime-node";
import { AUTO, chooseProvider, type Trial } from "../../../models/choose-provider.ts";
import type { Candidates, Outputs, TensorInfo } from "../../../models/decode/decoder.ts";
import { createDecoder, findsOften } from "../../../models/decode/families.ts";
import { suppress } from "../../../models/decode/suppress.ts";
import { listProviders, loadOnnxruntime, openSession } from "../../../models/onnxruntime.ts";
import type { WorkerSettings } from "./messages.ts";
import { findInputs, shapeOf, sizeOf, viewTensor } from "./model-input.ts";

/** Limit per inference. */
const MAX_OBJECTS = 300;
/** Minimum score of candidates that support a better one, independent of the requested minimum. */
const FAINTEST = 0.01;

export interface Network {
  /** Runs on the current content of the input. */
  run(): Promise<Outputs>;
  /** Copies a slot into the input, runs, and decodes the outputs; some may be below `minimum`. Throws for NaN. */
  infer(slot: number, minimum: number, overlap: number): Promise<Candidates>;
}

type Warn = (warning: string) => void;

/** Throws for a fault of the model, its card or the providers. */
export async function loadNetwork(settings: WorkerSettings, warn: Warn = () => {}): Promise<Network> {
  const { card, labels } = settings.model;
  const { session, input, run } = await openModel(settings, warn);
  const decoder = createDecoder(card, labels.length, session.outputMetadata.map(readInfo));
  const isFoundOften = findsOften(card);
  const views = settings.slots.map((slot) => viewTensor(card.input, slot));
  return {
    run,
    async infer(slot, minimum, overlap) {
      const view = views[slot];
      if (view === undefined) throw new Error(`there is no slot ${slot}; expected 0 to ${views.length - 1}`);
      input.set(view);
      const outputs = await run();
      expectNumbers(outputs);
      const candidates = decoder.decode(outputs, isFoundOften ? Math.min(minimum, FAINTEST) : minimum);
      return suppress(candidates, { overlap, limit: MAX_OBJECTS, isFoundOften });
    },
  };
}

interface OpenModel extends Trial {
  readonly session: InferenceSession;
  /** The tensor that it runs on. */
  readonly input: Uint8Array | Float32Array;
}

async function openModel(settings: WorkerSettings, warn: Warn): Promise<OpenModel> {
  const { providers } = settings;
  if (!providers.includes(AUTO)) return openIn(settings, providers, warn);
  const open = async (chosen: readonly string[]): Promise<OpenModel> => {
    const model = await openIn(settings, chosen, warn);
    fillWithNoise(model.input);
    return model;
  };
  const model = await chooseProvider({ offered: await listProviders(), open, warn });
  model.input.fill(0);
  return model;
}

/** Opens the model in these providers. */
async function openIn(settings: WorkerSettings, providers: readonly string[], warn: Warn): Promise<OpenModel> {
  const { card, file } = settings.model;
  const { threads } = settings;
  const session = await openSession({ onnx: file, isConverted: card.convert !== undefined, threads, providers }, warn);
  const { Tensor } = await loadOnnxruntime();
  const names = findInputs(card, session.inputMetadata.map(readInfo));
  const { width, height, type } = card.input;
  const input = viewTensor(card.input, new ArrayBuffer(sizeOf(card.input)));
  const feeds: Record<string, InstanceType<typeof Tensor>> = {
    [names.picture]: new Tensor(type, input, shapeOf(card.input)),
    ...(names.size && { [names.size]: new Tensor("int64", BigInt64Array.of(BigInt(width), BigInt(height)), [1, 2]) }),
  };
  return {
    ...{ session, input },
    run: async () => (await session.run(feeds)) as unknown as Outputs,
    release: () => session.release(),
  };
}

/** The same for every provider: blocks of random brightness, in which a network finds something. */
function fillWithNoise(input: Uint8Array | Float32Array): void {
  let state = 1;
  for (let at = 0; at < input.length; at++) {
    if (at % NOISE_BLOCK === 0) state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    input[at] = state >>> 24;
  }
}

const NOISE_BLOCK = 48;

const readInfo = (info: InferenceSession.ValueMetadata): TensorInfo =>
  info.isTensor ? info : { name: info.name, type: "no tensor", shape: [] };

/** Values checked per output: a broken network gives NaN in many of them. */
const MAX_CHECKED = 4096;

/** Throws if an output holds NaN. */
export function expectNumbers(outputs: Outputs): void {
  for (const [name, { data }] of Object.entries(outputs)) {
    if (!(data instanceof Float32Array)) continue;
    // Odd, so that it does not stay in one column of a table.
    const step = Math.ceil(data.length / MAX_CHECKED) | 1;
    for (let i = 0; i < data.length; i += step)
      if (Number.isNaN(data[i])) throw new Error(`the model gave NaN in its output ${name}`);
  }
}

/** Opens a model as `detect` does, and runs it on one image. */
import type { InferenceSession } from "onnxruntime-node";
import type { TensorInfo } from "../../models/decode/decoder.ts";
import { ModelFault } from "../../models/fault.ts";
import { findExternalData } from "../../models/onnx/external-data.ts";
import { loadOnnxruntime } from "../../models/onnxruntime.ts";
import type { Model } from "../../models/open.ts";
import { sizeOf } from "./worker/model-input.ts";
import { loadNetwork } from "./worker/network.ts";

export interface Tensors {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

/** Throws `ModelFault` for a file that is not a complete ONNX model; the message calls it `name`. */
export async function readTensors(file: string, name: string = file): Promise<Tensors> {
  expectOneFile(file, name);
  const { InferenceSession } = await loadOnnxruntime();
  let session: InferenceSession;
  try {
    session = await InferenceSession.create(file, { graphOptimizationLevel: "disabled", logSeverityLevel: 4 });
  } catch (error) {
    throw new ModelFault(`${name} cannot be opened as an ONNX model: ${messageOf(error)}`, { cause: error });
  }
  const read = (infos: readonly InferenceSession.ValueMetadata[]): readonly TensorInfo[] =>
    infos.map((info) => (info.isTensor ? info : { name: info.name, type: "not a tensor", shape: [] }));
  const tensors = { inputs: read(session.inputMetadata), outputs: read(session.outputMetadata) };
  await session.release();
  return tensors;
}

/** A model is verified, copied and stored as one file. */
function expectOneFile(file: string, name: string): void {
  const location = findExternalData(file);
  if (location === null) return;
  throw new ModelFault(
    `${name} is not complete: its weights are in another file${location === "" ? "" : `, ${location}`}\n` +
      "  export it in one file: torch.onnx.export(…, external_data=False), or with Python's onnx, in the folder of both files:\n" +
      '    onnx.save_model(onnx.load("model.onnx"), "whole.onnx", save_as_external_data=False)',
  );
}

/** Opens the model as `detect` does and runs it on a black image. Throws `ModelMisfit` or `ModelFault`. */
export async function tryModel(model: Model): Promise<void> {
  await readTensors(model.file, model.card.model);
  const slots = [new SharedArrayBuffer(sizeOf(model.card.input))];
  const network = await loadNetwork({ model, threads: 1, providers: ["cpu"], slots, gate: new SharedArrayBuffer(8) });
  const { weak, overlap } = model.card.thresholds;
  try {
    await network.infer(0, weak, overlap);
  } catch (error) {
    if (error instanceof Error && error.name === "ModelMisfit") throw error;
    throw new ModelFault(`${model.card.model} fits its card but fails to run: ${messageOf(error)}`, { cause: error });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Imports a card or an ONNX file, so that the model can be used by name. */
import { statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import type { InferenceSession } from "onnxruntime-node";
import { parseDocument } from "yaml";
import { sizeOf } from "../../elements/detect/worker/model-input.ts";
import { loadNetwork } from "../../elements/detect/worker/network.ts";
import type { ModelCard } from "../../models/card.ts";
import type { TensorInfo } from "../../models/decode/decoder.ts";
import { ModelFault } from "../../models/fault.ts";
import type { Fetching } from "../../models/fetch/weights.ts";
import { digestFile, writeAtomically } from "../../models/files.ts";
import { type FoundCard, listCardFiles, userCard } from "../../models/find-card.ts";
import { installModels } from "../../models/install.ts";
import { findExternalData } from "../../models/onnx/external-data.ts";
import { loadOnnxruntime } from "../../models/onnxruntime.ts";
import type { Model } from "../../models/open.ts";
import { parseCard, readText } from "../../models/read-card.ts";
import { UsageFault } from "../command.ts";
import { type CardOptions, draftCard, editCard, type Tensors } from "./draft-card.ts";

export interface Import extends CardOptions {
  /** Card or ONNX file. */
  readonly file: string;
  /** Replaces the sources of a card. */
  readonly weights?: string | undefined;
  readonly edits: readonly string[];
  readonly force: boolean;
}

/** Removes what it has added to the cache when it fails. */
export async function importModel(order: Import, fetching: Fetching): Promise<FoundCard> {
  const { file } = order;
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  if (!isFile) throw new UsageFault(`there is no file ${file}; expected a card (.yaml) or an ONNX file (.onnx)`);
  const written = file.endsWith(".onnx") ? await draft(order, fetching) : readText(file);
  const yaml = editCard(written, [...(order.name === undefined ? [] : [`model=${order.name}`]), ...order.edits]);
  const card = parseCard(yaml, file);
  expectFree(card.model, order.force);
  const sources = order.weights === undefined ? card.sources : [{ path: resolve(order.weights) }];
  const found: FoundCard = { card: { ...card, sources }, file, origin: "given", askedFor: file };
  const added: string[] = [];
  try {
    await installModels([found], { ...fetching, onAdded: (path) => added.push(path) }, async (installed) => {
      fetching.report(`${card.model}: running it on one image`);
      await tryModel(installed);
    });
    return await keepCard(anchorPaths(yaml, card, file), card.model);
  } catch (error) {
    // A failed clean-up must not hide the error.
    for (const path of added) await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

async function keepCard(yaml: string, name: string): Promise<FoundCard> {
  const file = userCard(name);
  const card = parseCard(yaml, file);
  await writeAtomically(file, [Buffer.from(yaml)]);
  return { card, file, origin: "yours", askedFor: name };
}

async function draft(order: Import, { report }: Fetching): Promise<string> {
  const { file } = order;
  report(`reading ${file}`);
  const tensors = await readTensors(file);
  return draftCard({ path: file, sha256: await digestFile(file), bytes: statSync(file).size }, tensors, order);
}

function expectFree(name: string, force: boolean): void {
  const taken = listCardFiles().find((card) => card.name === name);
  if (taken === undefined || force) return;
  const owner = taken.origin === "windhover" ? "included with Windhover" : `one of your models: ${taken.file}`;
  throw new UsageFault(
    `the name "${name}" is taken: it is ${owner}\n  give another name with --name, or replace the model with --force`,
  );
}

/** Makes relative paths absolute: the card moves, the files do not. */
function anchorPaths(yaml: string, { sources }: ModelCard, from: string): string {
  if (!sources.some((source) => "path" in source && !isAbsolute(source.path))) return yaml;
  const document = parseDocument(yaml);
  for (const [i, source] of sources.entries())
    if ("path" in source) document.setIn(["sources", i, "path"], resolve(dirname(from), source.path));
  return document.toString({ lineWidth: 120 });
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

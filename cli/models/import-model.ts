/** From a card or an ONNX file of the user to a model that can be asked for by name. */
import { statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import type { InferenceSession } from "onnxruntime-node";
import { parseDocument } from "yaml";
import { loadNetwork } from "../../elements/detect/worker/network.ts";
import { sizeOf } from "../../elements/detect/worker/tensor-view.ts";
import type { ModelCard } from "../../models/card.ts";
import type { TensorInfo } from "../../models/decode/decoder.ts";
import { digestFile } from "../../models/digest.ts";
import { ModelFault } from "../../models/fault.ts";
import type { Fetching } from "../../models/fetch/weights.ts";
import { type FoundCard, listCardFiles, userCard } from "../../models/find-card.ts";
import { installModels } from "../../models/install.ts";
import { findExternalData } from "../../models/onnx/external-data.ts";
import { loadOnnxruntime } from "../../models/onnxruntime.ts";
import type { Model } from "../../models/open.ts";
import { parseCard, readText } from "../../models/read-card.ts";
import { writeWhole } from "../../models/write-file.ts";
import { UsageFault } from "../command.ts";
import { draftCard, editCard, type Wishes } from "./draft-card.ts";

export interface Import extends Wishes {
  /** Card or ONNX file. */
  readonly file: string;
  /** In place of the sources of a card. */
  readonly weights?: string | undefined;
  readonly edits: readonly string[];
  readonly force: boolean;
}

/** When it fails, what it has put into the cache is taken out again. */
export async function importModel(order: Import, fetching: Fetching): Promise<FoundCard> {
  const { file } = order;
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  if (!isFile) throw new UsageFault(`there is no file ${file}; expected a card (.yaml) or a model (.onnx)`);
  const written = file.endsWith(".onnx") ? await draft(order, fetching) : readText(file);
  const yaml = editCard(written, [...(order.name === undefined ? [] : [`model=${order.name}`]), ...order.edits]);
  const card = parseCard(yaml, file);
  expectFree(card.model, order.force);
  const sources = order.weights === undefined ? card.sources : [{ path: resolve(order.weights) }];
  const found: FoundCard = { card: { ...card, sources }, file, origin: "given", askedFor: file };
  const added: string[] = [];
  try {
    await installModels([found], { ...fetching, onAdded: (path) => added.push(path) }, async (installed) => {
      fetching.report(`${card.model}: opening it and looking at one picture`);
      await tryModel(installed);
    });
    return await keepCard(anchorPaths(yaml, card, file), card.model);
  } catch (error) {
    // That they stay is a lesser fault than the one that is to be told.
    for (const path of added) await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

async function keepCard(yaml: string, name: string): Promise<FoundCard> {
  const file = userCard(name);
  const card = parseCard(yaml, file);
  await writeWhole(file, [Buffer.from(yaml)]);
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
  const whose = taken.origin === "windhover" ? "comes with Windhover" : `is yours already: ${taken.file}`;
  throw new UsageFault(
    `the name "${name}" is taken, it ${whose}\n  give another with --name, or take its place with --force`,
  );
}

/** The card moves; the files that it names do not. */
function anchorPaths(yaml: string, { sources }: ModelCard, from: string): string {
  if (!sources.some((source) => "path" in source && !isAbsolute(source.path))) return yaml;
  const document = parseDocument(yaml);
  for (const [i, source] of sources.entries())
    if ("path" in source) document.setIn(["sources", i, "path"], resolve(dirname(from), source.path));
  return document.toString({ lineWidth: 120 });
}

// A model in onnxruntime, to see what it is and whether it runs.
export interface Tensors {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
}

/** Throws `ModelFault` for a file that is no ONNX, or not all of it; `name` is what it is called then. */
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
    infos.map((info) => (info.isTensor ? info : { name: info.name, type: "no tensor", shape: [] }));
  const tensors = { inputs: read(session.inputMetadata), outputs: read(session.outputMetadata) };
  await session.release();
  return tensors;
}

/** A model is checked, copied and kept as one file. */
function expectOneFile(file: string, name: string): void {
  const location = findExternalData(file);
  if (location === null) return;
  throw new ModelFault(
    `${name} is not the whole model: its weights are in another file${location === "" ? "" : `, ${location}`}\n` +
      "  export it in one file: torch.onnx.export(…, external_data=False), or with Python's onnx, where both files are:\n" +
      '    onnx.save_model(onnx.load("model.onnx"), "whole.onnx", save_as_external_data=False)',
  );
}

/** Opens it as `detect` would and lets it look at a black picture once. Throws `ModelMisfit` or `ModelFault`. */
export async function tryModel(model: Model): Promise<void> {
  await readTensors(model.file, model.card.model);
  const slots = [new SharedArrayBuffer(sizeOf(model.card.input))];
  const network = await loadNetwork({ model, threads: 1, providers: ["cpu"], slots, gate: new SharedArrayBuffer(8) });
  const { weak, overlap } = model.card.thresholds;
  try {
    await network.look(0, weak, overlap);
  } catch (error) {
    if (error instanceof Error && error.name === "ModelMisfit") throw error;
    throw new ModelFault(`${model.card.model} fits its card but cannot be run: ${messageOf(error)}`, { cause: error });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

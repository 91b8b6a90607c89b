/** Imports a card or an ONNX file, so that the model can be used by name. */
import { statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import { parseDocument } from "yaml";
import { readTensors, tryModel } from "../../elements/detect/try-model.ts";
import type { ModelCard } from "../../models/card.ts";
import type { Fetching } from "../../models/fetch/weights.ts";
import { digestFile, writeAtomically } from "../../models/files.ts";
import { type FoundCard, listCardFiles, userCard } from "../../models/find-card.ts";
import { installModels } from "../../models/install.ts";
import { parseCard, readText } from "../../models/read-card.ts";
import { UsageFault } from "../command.ts";
import { type CardOptions, draftCard, editCard } from "./draft-card.ts";

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

/** Removes an imported model. */
import { existsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { modelFolders } from "../../models/cache.ts";
import type { ModelCard } from "../../models/card.ts";
import { listAllConverted, listConverted } from "../../models/converted.ts";
import { CardFault } from "../../models/fault.ts";
import { withStorageFaults } from "../../models/files.ts";
import { findAllBuiltIn, isBuiltIn, listUserCards, userCard } from "../../models/find-card.ts";
import { weightsFile } from "../../models/open.ts";
import { readCard, readText } from "../../models/read-card.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { UsageFault } from "../command.ts";

export interface Removal {
  readonly name: string;
  readonly removed: readonly { readonly file: string; readonly bytes: number }[];
  /** Whether the name is now that of a model included with Windhover again. */
  readonly isBuiltIn: boolean;
}

/** Throws `UsageFault` for a model that the user has not imported. */
export function expectOwn(name: string): void {
  const names = listUserCards().map((card) => card.name);
  if (names.includes(name)) return;
  const have = names.length === 0 ? "you have not imported any model" : `your models are ${names.join(", ")}`;
  if (isBuiltIn(name)) throw new UsageFault(`"${name}" is included with Windhover and cannot be removed; ${have}`);
  throw new UsageFault(`you have no model "${name}"${didYouMean(name, names)}\n  ${have}`);
}

/** Removes the card last, so that an interrupted removal can be repeated. Keeps files that another card needs. */
export async function removeModel(name: string): Promise<Removal> {
  const cardFile = userCard(name);
  const files = [...(await listFiles(cardFile)), cardFile].filter((file) => existsSync(file));
  const removed = files.map((file) => ({ file, bytes: statSync(file).size }));
  for (const file of files) await withStorageFaults(dirname(file), () => rm(file, { force: true }));
  return { name, removed, isBuiltIn: isBuiltIn(name) };
}

/** Weights and conversions that only this card needs. */
async function listFiles(cardFile: string): Promise<readonly string[]> {
  const card = readIfValid(cardFile);
  // The files of an unreadable card are unknown.
  if (card === null) return [];
  const others = [...findAllBuiltIn(), ...listUserCards()].map(({ file }) => file).filter((file) => file !== cardFile);
  // Searched in the text: a card with faults also keeps its weights.
  const isShared = others.some((file) => readText(file).includes(card.sha256));
  return [...(isShared ? [] : [weightsFile(card)]), ...(await listConversions(card, others))];
}

async function listConversions(card: ModelCard, others: readonly string[]): Promise<readonly string[]> {
  const { converted } = modelFolders();
  const twins = others.map(readIfValid).filter((other) => other?.model === card.model);
  if (twins.length === 0) return listAllConverted(card.model, converted);
  if (card.convert === undefined) return [];
  const needed: string[] = [];
  for (const twin of twins)
    if (twin?.convert !== undefined) needed.push(...(await listConverted(twin, twin.convert, converted)));
  return (await listConverted(card, card.convert, converted)).filter((file) => !needed.includes(file));
}

function readIfValid(file: string): ModelCard | null {
  try {
    return readCard(file);
  } catch (error) {
    if (error instanceof CardFault) return null;
    throw error;
  }
}

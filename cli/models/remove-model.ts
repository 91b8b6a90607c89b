/** Takes back what `import` has done. */
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
  /** Whether the name is now again that of a model that comes with Windhover. */
  readonly isBuiltIn: boolean;
}

/** Throws `UsageFault` for a model that is not one of the user. */
export function expectOwn(name: string): void {
  const names = listUserCards().map((card) => card.name);
  if (names.includes(name)) return;
  const have = names.length === 0 ? "you have imported none" : `yours are ${names.join(", ")}`;
  if (isBuiltIn(name)) throw new UsageFault(`"${name}" comes with Windhover and stays; ${have}`);
  throw new UsageFault(`there is no model "${name}" of yours${didYouMean(name, names)}\n  ${have}`);
}

/** The card goes last: what is interrupted can be done again. Files that another card needs stay. */
export async function removeModel(name: string): Promise<Removal> {
  const cardFile = userCard(name);
  const files = [...(await listFiles(cardFile)), cardFile].filter((file) => existsSync(file));
  const removed = files.map((file) => ({ file, bytes: statSync(file).size }));
  for (const file of files) await withStorageFaults(dirname(file), () => rm(file, { force: true }));
  return { name, removed, isBuiltIn: isBuiltIn(name) };
}

/** Weights and conversions that only this card needs. */
async function listFiles(cardFile: string): Promise<readonly string[]> {
  const card = readIfWell(cardFile);
  // Nobody knows what belongs to a card that cannot be read.
  if (card === null) return [];
  const others = [...findAllBuiltIn(), ...listUserCards()].map(({ file }) => file).filter((file) => file !== cardFile);
  // Looked for in the text, so that a card with a fault keeps its weights, too.
  const isShared = others.some((file) => readText(file).includes(card.sha256));
  return [...(isShared ? [] : [weightsFile(card)]), ...(await listConversions(card, others))];
}

async function listConversions(card: ModelCard, others: readonly string[]): Promise<readonly string[]> {
  const { converted } = modelFolders();
  const twins = others.map(readIfWell).filter((other) => other?.model === card.model);
  if (twins.length === 0) return listAllConverted(card.model, converted);
  if (card.convert === undefined) return [];
  const needed: string[] = [];
  for (const twin of twins)
    if (twin?.convert !== undefined) needed.push(...(await listConverted(twin, twin.convert, converted)));
  return (await listConverted(card, card.convert, converted)).filter((file) => !needed.includes(file));
}

function readIfWell(file: string): ModelCard | null {
  try {
    return readCard(file);
  } catch (error) {
    if (error instanceof CardFault) return null;
    throw error;
  }
}

/** The cards there are: those that come with Windhover and those of the user. */
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { didYouMean } from "../schemas/suggest.ts";
import { modelPlaces } from "./cache.ts";
import type { ModelCard } from "./card.ts";
import { ModelFault } from "./fault.ts";
import { readCard } from "./read-card.ts";

const BUILT_IN = fileURLToPath(new URL("cards/", import.meta.url));
const ENDING = ".yaml";

export interface FoundCard {
  readonly card: ModelCard;
  readonly file: string;
  /** `given`: a file that was named. */
  readonly origin: "windhover" | "yours" | "given";
  /** Name or path that leads to this card and no other, for messages that say what to run. */
  readonly askedFor: string;
}

export interface CardFile {
  readonly name: string;
  readonly file: string;
  readonly origin: "windhover" | "yours";
}

/** By name: one of the user goes before one of Windhover. None is read. */
export function listCardFiles(): readonly CardFile[] {
  const files = new Map<string, CardFile>();
  for (const [folder, origin] of [[BUILT_IN, "windhover"] as const, [modelPlaces().cards, "yours"] as const])
    for (const name of listNames(folder)) files.set(name, { name, file: join(folder, name + ENDING), origin });
  return [...files.values()];
}

export const listUserCards = (): readonly CardFile[] =>
  listNames(modelPlaces().cards).map((name) => ({ name, file: userCard(name), origin: "yours" }));

/** What comes with Windhover, whatever the user has of the same names. The set-up installs these. */
export const findAllBuiltIn = (): readonly FoundCard[] => listNames(BUILT_IN).map(findBuiltIn);

/** By its file, so that a card of the user cannot take its place. Throws when there is none of that name. */
export function findBuiltIn(name: string): FoundCard {
  const file = join(BUILT_IN, name + ENDING);
  const isHidden = existsSync(userCard(name));
  return { card: readCard(file), file, origin: "windhover", askedFor: isHidden ? file : name };
}

export const isBuiltIn = (name: string): boolean => listNames(BUILT_IN).includes(name);

/** Where the user's card of this name is kept; it need not be there. */
export const userCard = (name: string): string => join(modelPlaces().cards, name + ENDING);

function listNames(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(ENDING) && !name.startsWith("."));
  // The default first: it is what most look for.
  return names.map((name) => basename(name, ENDING)).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

const rank = (name: string): number => (name === "default" ? 0 : 1);

const isCardPath = (name: string): boolean => name.includes("/") || /\.ya?ml$/i.test(name);

/** By name or by the path of a card. Throws `ModelFault` when there is none, `CardFault` when it is wrong. */
export function findCard(nameOrPath: string): FoundCard {
  if (isCardPath(nameOrPath)) return findByPath(nameOrPath);
  const files = listCardFiles();
  const found = files.find(({ name }) => name === nameOrPath);
  if (found !== undefined)
    return { card: readCard(found.file), file: found.file, origin: found.origin, askedFor: nameOrPath };
  const names = files.map(({ name }) => name);
  throw new ModelFault(
    `there is no model "${nameOrPath}"${didYouMean(nameOrPath, names)}\n` +
      `  there are ${names.join(", ")}; a card of your own is named by its path, card.yaml, or installed with \`npx windhover models import\``,
  );
}

/** A card of Windhover stays one, by whichever way it is named. */
function findByPath(path: string): FoundCard {
  const name = basename(path, ENDING);
  if (dirname(resolve(path)) === resolve(BUILT_IN) && isBuiltIn(name)) return findBuiltIn(name);
  return { card: readCard(path), file: path, origin: "given", askedFor: path };
}

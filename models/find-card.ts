/** Finds cards: those that come with Windhover, the user's, and card files by path. */
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readFolders } from "../schemas/folders.ts";
import { didYouMean } from "../schemas/suggest.ts";
import { modelFolders } from "./cache.ts";
import type { ModelCard } from "./card.ts";
import { ModelFault } from "./fault.ts";
import { readCard } from "./read-card.ts";

const BUILT_IN = fileURLToPath(new URL("cards/", import.meta.url));
const ENDING = ".yaml";

export interface FoundCard {
  readonly card: ModelCard;
  readonly file: string;
  /** `given`: by the path of a file. */
  readonly origin: CardFile["origin"] | "given";
  /** Name or path that identifies this card uniquely, for commands in messages. */
  readonly askedFor: string;
}

export interface CardFile {
  readonly name: string;
  readonly file: string;
  /** `workspace`: of a folder of the workspace or of the configuration. */
  readonly origin: "windhover" | "yours" | "workspace";
}

/** One per name: the workspace's card has precedence over the user's, and that one over Windhover's. Reads no card. */
export function listCardFiles(): readonly CardFile[] {
  const files = new Map<string, CardFile>();
  const folders: readonly (readonly [folder: string, origin: CardFile["origin"]])[] = [
    [BUILT_IN, "windhover"],
    [modelFolders().cards, "yours"],
    ...[...readFolders().models].reverse().map((folder) => [folder, "workspace"] as const),
  ];
  for (const [folder, origin] of folders)
    for (const name of listNames(folder)) files.set(name, { name, file: join(folder, name + ENDING), origin });
  return [...files.values()];
}

export const listUserCards = (): readonly CardFile[] =>
  listNames(modelFolders().cards).map((name) => ({ name, file: userCard(name), origin: "yours" }));

/** Windhover's own cards, also where the user has one of the same name. The set-up installs these. */
export const findAllBuiltIn = (): readonly FoundCard[] => listNames(BUILT_IN).map(findBuiltIn);

/** Ignores the user's cards. Throws when there is none of that name. */
export function findBuiltIn(name: string): FoundCard {
  const file = join(BUILT_IN, name + ENDING);
  const isHidden = listCardFiles().some((card) => card.name === name && card.origin !== "windhover");
  return { card: readCard(file), file, origin: "windhover", askedFor: isHidden ? file : name };
}

export const isBuiltIn = (name: string): boolean => listNames(BUILT_IN).includes(name);

/** Path of the user's card of this name, which need not exist. */
export const userCard = (name: string): string => join(modelFolders().cards, name + ENDING);

function listNames(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(ENDING) && !name.startsWith("."));
  // The default model first.
  return names.map((name) => basename(name, ENDING)).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

const rank = (name: string): number => (name === "default" ? 0 : 1);

const isCardPath = (name: string): boolean => name.includes("/") || /\.ya?ml$/i.test(name);

/** By name or by the path of a card. Throws `ModelFault` if there is none, `CardFault` if it is invalid. */
export function findCard(nameOrPath: string): FoundCard {
  if (isCardPath(nameOrPath)) return findByPath(nameOrPath);
  const files = listCardFiles();
  const found = files.find(({ name }) => name === nameOrPath);
  if (found !== undefined)
    return { card: readCard(found.file), file: found.file, origin: found.origin, askedFor: nameOrPath };
  const names = files.map(({ name }) => name);
  throw new ModelFault(
    `there is no model "${nameOrPath}"${didYouMean(nameOrPath, names)}\n` +
      `  available: ${names.join(", ")}; for your own model give the path of its card, card.yaml, or install it with \`npx windhover models import\``,
  );
}

/** The path of one of Windhover's cards gives the same result as its name. */
function findByPath(path: string): FoundCard {
  const name = basename(path, ENDING);
  if (dirname(resolve(path)) === resolve(BUILT_IN) && isBuiltIn(name)) return findBuiltIn(name);
  return { card: readCard(path), file: path, origin: "given", askedFor: path };
}

/** The command that installs this card. */
export const getCommand = ({ askedFor }: Pick<FoundCard, "askedFor">): string =>
  `npx windhover models get ${quoteWord(askedFor)}`;

const quoteWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

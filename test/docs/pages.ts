/** The pages of the documentation: those that people write, and those that are made from definitions. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Block, readBlocks } from "./blocks.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly isGenerated: boolean;
  readonly blocks: readonly Block[];
}

const inDocs = readdirSync(join(ROOT, "docs"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`);

export const PAGES: readonly Page[] = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "client/README.md",
  ...inDocs,
].map((path) => {
  const text = readFileSync(join(ROOT, path), "utf8");
  return { path, text, isGenerated: text.startsWith("<!-- Made by"), blocks: readBlocks(text) };
});

export const WRITTEN = PAGES.filter(({ isGenerated }) => !isGenerated);

export function findPage(path: string): Page {
  const page = PAGES.find((one) => one.path === path);
  if (page === undefined) throw new Error(`there is no page ${path}`);
  return page;
}

/** `file: elements/x/x.ts`: what the reader is to save the block as. */
export const fileOf = ({ remark }: Block): string | null => /^file: (\S+)$/.exec(remark ?? "")?.[1] ?? null;

/** Says why. */
export const isNotRun = ({ remark }: Block): boolean => /^not run: \S/.test(remark ?? "");

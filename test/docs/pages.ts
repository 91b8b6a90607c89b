/** The pages of the documentation, written and generated ones: their code blocks and links. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Block {
  /** Info string of the opening fence: `sh`, `yaml`, `json`, `ts` … */
  readonly language: string;
  readonly text: string;
  /** Line number of the opening fence, from 1. */
  readonly line: number;
  /** Text of the HTML comment right above: how the block is tested, or why it is not. Null: no comment. */
  readonly remark: string | null;
}

const FENCE = /^(\s*)```(\w*)\s*$/;
const REMARK = /^\s*<!--\s*(.*?)\s*-->\s*$/;

export function readBlocks(markdown: string): readonly Block[] {
  const lines = markdown.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const opening = FENCE.exec(lines[at] ?? "");
    if (opening === null) continue;
    const [, indent = "", language = ""] = opening;
    const end = lines.findIndex((line, i) => i > at && line.trim() === "```");
    if (end < 0) throw new Error(`line ${at + 1}: the code block is not closed`);
    const text = lines.slice(at + 1, end).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    blocks.push({ language, text: `${text.join("\n")}\n`, line: at + 1, remark: findRemark(lines, at) });
    at = end;
  }
  return blocks;
}

/** Skips empty lines. */
function findRemark(lines: readonly string[], at: number): string | null {
  let above = at - 1;
  while (above >= 0 && lines[above]?.trim() === "") above--;
  return REMARK.exec(lines[above] ?? "")?.[1] ?? null;
}

export interface Page {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly isGenerated: boolean;
  readonly blocks: readonly Block[];
}

const inDocs = ["docs", "docs/api"].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`),
);

export const PAGES: readonly Page[] = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "client/README.md",
  "client/python/README.md",
  ...inDocs,
].map((path) => {
  const text = readFileSync(join(ROOT, path), "utf8");
  return { path, text, isGenerated: text.startsWith("<!-- Made by"), blocks: readBlocks(text) };
});

export const WRITTEN = PAGES.filter(({ isGenerated }) => !isGenerated);

export function findPage(path: string): Page {
  const page = PAGES.find((one) => one.path === path);
  if (page === undefined) throw new Error(`no such page: ${path}`);
  return page;
}

/** `file: elements/x/x.ts`: the file that the reader saves the block to. */
export const fileOf = ({ remark }: Block): string | null => /^file: (\S+)$/.exec(remark ?? "")?.[1] ?? null;

/** `not run: REASON` */
export const isNotRun = ({ remark }: Block): boolean => /^not run: \S/.test(remark ?? "");

const LINK = /\[[^\]]*\]\(([^)\s]+)\)|\bsrc="([^"]+)"/g;

/** The anchor that GitHub gives a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

const withoutBlocks = (text: string): string => text.replaceAll(/^\s*```[\s\S]*?^\s*```/gm, "");

const anchorsOf = ({ text }: Page): ReadonlySet<string> =>
  new Set([...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading)));

/** One message for every broken link. */
export function checkLinks(page: Page, pages: readonly Page[]): readonly string[] {
  const links = [...withoutBlocks(page.text).matchAll(LINK)].map(([, link, source]) => link ?? source ?? "");
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .flatMap((link) => {
      const [file = "", anchor] = link.split("#");
      const path = file === "" ? page.path : normalize(join(dirname(page.path), file));
      if (!existsSync(join(ROOT, path))) return [`${page.path}: ${link} is not a file`];
      if (anchor === undefined) return [];
      const target = pages.find((one) => one.path === path);
      return target !== undefined && anchorsOf(target).has(anchor) ? [] : [`${page.path}: ${link} is not a heading`];
    });
}

/** Links of a page that lead to files and headings of this repository, and whether they do. */
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { type Page, ROOT } from "./pages.ts";

const LINK = /\[[^\]]*\]\(([^)\s]+)\)|\bsrc="([^"]+)"/g;

/** As GitHub names headings. */
export const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

const withoutBlocks = (text: string): string => text.replaceAll(/^\s*```[\s\S]*?^\s*```/gm, "");

const anchorsOf = ({ text }: Page): ReadonlySet<string> =>
  new Set([...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading)));

/** One sentence for every link that leads nowhere. */
export function judgeLinks(page: Page, pages: readonly Page[]): readonly string[] {
  const links = [...withoutBlocks(page.text).matchAll(LINK)].map(([, link, source]) => link ?? source ?? "");
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .flatMap((link) => {
      const [file = "", anchor] = link.split("#");
      const path = file === "" ? page.path : normalize(join(dirname(page.path), file));
      if (!existsSync(join(ROOT, path))) return [`${page.path}: ${link} leads to no file`];
      if (anchor === undefined) return [];
      const target = pages.find((one) => one.path === path);
      return target !== undefined && anchorsOf(target).has(anchor) ? [] : [`${page.path}: ${link} leads to no heading`];
    });
}

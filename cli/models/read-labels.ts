import { readFileSync, statSync } from "node:fs";
import { UsageFault } from "../command.ts";

const EXPECTED = "expected coco, a name, names with commas between them, or a file with one on each line";

/** `coco`, names with commas between them, a file with a name on each line, or the one name there is. */
export function readLabels(text: string | undefined): "coco" | string[] {
  if (text === undefined || text === "coco") return "coco";
  const names = readNames(text)
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length === 0) throw new UsageFault(`--labels is "${text}", in which there is no name; ${EXPECTED}`);
  return names;
}

function readNames(text: string): readonly string[] {
  if (text.includes(",")) return text.split(",");
  const isFile = statSync(text, { throwIfNoEntry: false })?.isFile() === true;
  return isFile || looksLikePath(text) ? readLines(text) : [text];
}

/** A folder in it, or an ending. */
const looksLikePath = (text: string): boolean => /[/\\]|\.\w+$/.test(text);

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageFault(`--labels is "${file}"; ${EXPECTED} (${code})`, { cause: error });
  }
}

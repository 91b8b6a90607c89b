/** Text measured, cut and broken by the columns it takes on a screen; colours take none. */
import { stripVTControlCharacters } from "node:util";

/** What a page is wide that does not ask the screen, and what a screen is that does not say. */
export const PAGE_COLUMNS = 80;

/** Columns that a text takes on the screen. */
export const widthOf = (text: string): number => [...stripVTControlCharacters(text)].length;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with this control character.
const PIECES = /\x1b\[\d+m|./gsu;

/** Cut to so many columns; colours stay whole. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let used = 0;
  let kept = "";
  for (const [piece] of text.matchAll(PIECES)) {
    if (piece.startsWith("\x1b")) kept += piece;
    else if (used < columns - 1) {
      kept += piece;
      used += 1;
    }
  }
  return `${kept}…`;
}

/** Cut to so many lines: the last stays, as it says how things stand, and those left out are counted. */
export function fitRows(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const kept = Math.max(0, rows - 2);
  return [...lines.slice(0, kept), `… ${lines.length - kept - 1} more lines`, ...lines.slice(-1)].slice(
    -Math.max(1, rows),
  );
}

export const padTo = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - widthOf(text)));

/** Words in lines of at most so many columns; the second line on begins with `indent`. */
export function wrap(text: string, columns: number, indent = ""): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line);
      line = indent + word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}

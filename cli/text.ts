/** Text measured, cut, wrapped and aligned by the columns it takes on a screen; colour codes take none. */
import { stripVTControlCharacters } from "node:util";

export type Colour = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "cyan";
export type Paint = (colour: Colour, text: string) => string;

/** Width of pages such as the help, and of screens that do not report theirs. */
export const PAGE_COLUMNS = 80;

/** Columns that a text takes on the screen. */
export const widthOf = (text: string): number => [...stripVTControlCharacters(text)].length;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with this control character.
const PIECES = /\x1b\[\d+m|./gsu;

/** Cut to `columns`; colour codes stay whole. */
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

/** Cut to `rows` lines: the last line stays, because it shows the status, and the lines left out are counted. */
export function fitRows(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const kept = Math.max(0, rows - 2);
  return [...lines.slice(0, kept), `… ${lines.length - kept - 1} more lines`, ...lines.slice(-1)].slice(
    -Math.max(1, rows),
  );
}

export const padTo = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - widthOf(text)));

/** Words in lines of at most `columns`; every line but the first begins with `indent`. */
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

export const COLUMN_GAP = "  ";

/** Rows of cells as lines. Columns are aligned left where `isLeft`, else right. */
export function alignColumns(
  rows: readonly (readonly string[])[],
  isLeft: (column: number) => boolean = () => true,
): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return isLeft(column) ? padTo(cell, width) : " ".repeat(width - widthOf(cell)) + cell;
      })
      .join(COLUMN_GAP)
      .trimEnd(),
  );
}

/** A table with dimmed heads. By default the first column is aligned left, and the others, which hold numbers, right. */
export function alignTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  paint: Paint,
  isLeft: (column: number) => boolean = (column) => column === 0,
): string {
  const [head = "", ...lines] = alignColumns([heads, ...rows], isLeft);
  return [paint("dim", head), ...lines].join("\n");
}

export const formatRate = (fps: number): string => (fps >= 100 ? fps.toFixed(0) : fps.toFixed(1));

/** `1:02.5`, `1:00:02.5`. */
export function formatTime(seconds: number, digits = 1): string {
  const whole = Math.max(0, seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = (Math.floor((whole % 60) * 10 ** digits) / 10 ** digits).toFixed(digits);
  const padded = rest.padStart(digits === 0 ? 2 : digits + 3, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${padded}` : `${minutes}:${padded}`;
}

export const formatBytes = (bytes: number): string =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

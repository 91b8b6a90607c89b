/** Rows of cells below their heads: the first column stands left, numbers right. */
import type { Paint } from "./terminal.ts";
import { padTo, widthOf } from "./text.ts";

const GAP = "  ";

export function alignTable(heads: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string {
  const widths = heads.map((head, column) => Math.max(widthOf(head), ...rows.map((row) => widthOf(row[column] ?? ""))));
  const align = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? padTo(cell, width) : " ".repeat(width - widthOf(cell)) + cell;
      })
      .join(GAP)
      .trimEnd();
  return [paint("dim", align(heads)), ...rows.map(align)].join("\n");
}

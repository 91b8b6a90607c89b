export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The places at which a network looks with one stride. */
export interface Level {
  readonly stride: number;
  readonly columns: number;
  readonly rows: number;
  /** Number of its first anchor. */
  readonly start: number;
}

/** Levels in the order of the strides, one anchor a cell. A cell that reaches beyond the input counts. */
export function layLevels({ width, height }: Size, strides: readonly number[]): readonly Level[] {
  let start = 0;
  return strides.map((stride) => {
    const level = { stride, columns: Math.ceil(width / stride), rows: Math.ceil(height / stride), start };
    start += level.columns * level.rows;
    return level;
  });
}

export const countCells = (levels: readonly Level[]): number =>
  levels.reduce((sum, { columns, rows }) => sum + columns * rows, 0);

/** The first of these sets of strides that gives so many anchors. */
export function findLevels(size: Size, sets: readonly (readonly number[])[], anchors: number): readonly Level[] | null {
  return sets.map((strides) => layLevels(size, strides)).find((levels) => countCells(levels) === anchors) ?? null;
}

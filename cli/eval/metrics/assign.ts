/** The assignment of rows to columns with the greatest sum of scores. */

/**
 * The column of each row, or -1 for rows that are left over. As many pairs are made as there are rows or columns,
 * whichever are fewer; of equal sums, the one that is found first, always the same. Scores are stored row after row.
 *
 * Shortest augmenting paths with potentials (Jonker and Volgenant), O(fewer² · more).
 */
export function assignGreatest(scores: Float64Array, rows: number, columns: number): Int32Array {
  if (rows <= columns) return solve((row, column) => -(scores[row * columns + column] as number), rows, columns);
  const assigned = new Int32Array(rows).fill(-1);
  const rowOf = solve((column, row) => -(scores[row * columns + column] as number), columns, rows);
  for (const [column, row] of rowOf.entries()) assigned[row] = column;
  return assigned;
}

/** At most as many rows as columns; every row gets a column. */
function solve(cost: (row: number, column: number) => number, rows: number, columns: number): Int32Array {
  const rowPotential = new Float64Array(rows);
  const columnPotential = new Float64Array(columns);
  const rowOf = new Int32Array(columns).fill(-1);
  const columnOf = new Int32Array(rows).fill(-1);
  const distance = new Float64Array(columns);
  const cameFrom = new Int32Array(columns);
  const isDone = new Uint8Array(columns);
  for (let start = 0; start < rows; start++) {
    distance.fill(Number.POSITIVE_INFINITY);
    isDone.fill(0);
    let row = start;
    let reached = 0;
    let last = -1;
    while (row !== -1) {
      let nearest = -1;
      for (let column = 0; column < columns; column++) {
        if (isDone[column] === 1) continue;
        const length =
          reached + cost(row, column) - (rowPotential[row] as number) - (columnPotential[column] as number);
        if (length < (distance[column] as number)) {
          distance[column] = length;
          cameFrom[column] = row;
        }
        if (nearest === -1 || (distance[column] as number) < (distance[nearest] as number)) nearest = column;
      }
      reached = distance[nearest] as number;
      isDone[nearest] = 1;
      last = nearest;
      row = rowOf[nearest] as number;
    }
    rowPotential[start] = (rowPotential[start] as number) + reached;
    for (let column = 0; column < columns; column++) {
      if (isDone[column] === 0 || column === last) continue;
      const slack = reached - (distance[column] as number);
      columnPotential[column] = (columnPotential[column] as number) - slack;
      const held = rowOf[column] as number;
      rowPotential[held] = (rowPotential[held] as number) + slack;
    }
    for (let column = last; column !== -1; ) {
      const from = cameFrom[column] as number;
      const before = columnOf[from] as number;
      rowOf[column] = from;
      columnOf[from] = column;
      column = before;
    }
  }
  return columnOf;
}

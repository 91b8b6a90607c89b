const FREE = -1;

/**
 * Assigns rows to columns at minimum total cost, where an unassigned row costs `limit` and a pair at or above `limit` is
 * never made. Shortest augmenting paths (Jonker and Volgenant) over possible pairs only, so that a crowd costs as much as
 * its densest part. Ties are resolved by the order of rows and columns.
 */
export class Assigner {
  #columnOfRow = new Int32Array(0);
  #rowPrice = new Float64Array(0);
  /** Possible pairs of row i: entries `#start[i]` up to `#start[i + 1]` of the two arrays below. */
  #start = new Int32Array(1);
  #pairColumn = new Int32Array(0);
  #pairCost = new Float64Array(0);

  #rowOfColumn = new Int32Array(0);
  #columnPrice = new Float64Array(0);
  #distance = new Float64Array(0);
  #from = new Int32Array(0);
  /** Columns reached from the current row; the first `settled` of them are final, as in `#isSettled`. */
  #reached = new Int32Array(0);
  #isSettled = new Uint8Array(0);

  /**
   * `costs` holds `rows` × `columns` numbers from 0 up, row by row. Returns the column of each row or -1, in an array
   * owned by the assigner and valid until the next call.
   */
  solve(costs: Float64Array, rows: number, columns: number, limit: number): Int32Array {
    this.#reserve(rows, columns);
    this.#columnOfRow.fill(FREE, 0, rows);
    this.#rowPrice.fill(0, 0, rows);
    this.#rowOfColumn.fill(FREE, 0, columns);
    this.#columnPrice.fill(0, 0, columns);
    this.#distance.fill(Number.POSITIVE_INFINITY, 0, columns);
    this.#listPairs(costs, rows, columns, limit);
    for (let row = 0; row < rows; row++) this.#place(row, limit);
    return this.#columnOfRow.subarray(0, rows);
  }

  #reserve(rows: number, columns: number): void {
    if (this.#columnOfRow.length < rows) {
      this.#columnOfRow = new Int32Array(rows * 2);
      this.#rowPrice = new Float64Array(rows * 2);
      this.#start = new Int32Array(rows * 2 + 1);
    }
    if (this.#rowOfColumn.length < columns) {
      this.#rowOfColumn = new Int32Array(columns * 2);
      this.#columnPrice = new Float64Array(columns * 2);
      this.#distance = new Float64Array(columns * 2);
      this.#from = new Int32Array(columns * 2);
      this.#reached = new Int32Array(columns * 2);
      this.#isSettled = new Uint8Array(columns * 2);
    }
    if (this.#pairColumn.length < rows * columns) {
      this.#pairColumn = new Int32Array(rows * columns * 2);
      this.#pairCost = new Float64Array(rows * columns * 2);
    }
  }

  #listPairs(costs: Float64Array, rows: number, columns: number, limit: number): void {
    const pairColumn = this.#pairColumn;
    const pairCost = this.#pairCost;
    let count = 0;
    for (let row = 0, place = 0; row < rows; row++) {
      this.#start[row] = count;
      for (let column = 0; column < columns; column++, place++) {
        const cost = costs[place] as number;
        if (cost < limit) {
          pairColumn[count] = column;
          pairCost[count++] = cost;
        }
      }
    }
    this.#start[rows] = count;
  }

  /** Finds the cheapest way to assign `row`, moving others, or to leave one of them unassigned. */
  #place(row: number, limit: number): void {
    const reached = this.#reached;
    const distance = this.#distance;
    let count = 0;
    let settled = 0;
    let current = row;
    let length = 0;
    let alone = row;
    let aloneLength = Number.POSITIVE_INFINITY;
    let end = FREE;
    for (;;) {
      const price = this.#rowPrice[current] as number;
      if (length + limit - price < aloneLength) {
        aloneLength = length + limit - price;
        alone = current;
      }
      count = this.#reach(current, length - price, count);
      let nearest = FREE;
      let nearestLength = aloneLength;
      for (let i = settled; i < count; i++) {
        const candidate = distance[reached[i] as number] as number;
        if (candidate < nearestLength) {
          nearestLength = candidate;
          nearest = i;
        }
      }
      length = nearestLength;
      if (nearest === FREE) break;
      const column = reached[nearest] as number;
      const owner = this.#rowOfColumn[column] as number;
      if (owner === FREE) {
        end = column;
        break;
      }
      reached[nearest] = reached[settled] as number;
      reached[settled++] = column;
      this.#isSettled[column] = 1;
      current = owner;
    }
    this.#reprice(row, length, settled);
    for (let i = 0; i < count; i++) {
      distance[reached[i] as number] = Number.POSITIVE_INFINITY;
      this.#isSettled[reached[i] as number] = 0;
    }
    this.#augment(row, end, alone);
  }

  /** Adds the columns reachable from `row` at distance `offset`. */
  #reach(row: number, offset: number, count: number): number {
    const until = this.#start[row + 1] as number;
    let next = count;
    for (let place = this.#start[row] as number; place < until; place++) {
      const column = this.#pairColumn[place] as number;
      const candidate = offset + (this.#pairCost[place] as number) - (this.#columnPrice[column] as number);
      const known = this.#distance[column] as number;
      // Rounding may make a settled column appear nearer; following it would never end.
      if (candidate >= known || this.#isSettled[column] === 1) continue;
      if (known === Number.POSITIVE_INFINITY) this.#reached[next++] = column;
      this.#distance[column] = candidate;
      this.#from[column] = row;
    }
    return next;
  }

  /** Keeps every reduced cost at 0 or above, as required for the next shortest path. */
  #reprice(row: number, length: number, settled: number): void {
    this.#rowPrice[row] = (this.#rowPrice[row] as number) + length;
    for (let i = 0; i < settled; i++) {
      const column = this.#reached[i] as number;
      const owner = this.#rowOfColumn[column] as number;
      const slack = length - (this.#distance[column] as number);
      this.#rowPrice[owner] = (this.#rowPrice[owner] as number) + slack;
      this.#columnPrice[column] = (this.#columnPrice[column] as number) - slack;
    }
  }

  /** Walks back from the free column, or from the column that `alone` releases, to `row`. */
  #augment(row: number, end: number, alone: number): void {
    if (end === FREE && alone === row) return;
    let column = end;
    if (end === FREE) {
      column = this.#columnOfRow[alone] as number;
      this.#columnOfRow[alone] = FREE;
    }
    for (;;) {
      const taker = this.#from[column] as number;
      const given = this.#columnOfRow[taker] as number;
      this.#columnOfRow[taker] = column;
      this.#rowOfColumn[column] = taker;
      if (taker === row) return;
      column = given;
    }
  }
}

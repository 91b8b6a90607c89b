/** The best class of each anchor: the part of decoding that touches every number of an output. */

/** Classes from `first` to before `end` of a row count; the others are background. */
export interface ScoreTable {
  readonly data: Float32Array;
  /** Where the first score of the first anchor is. */
  readonly start: number;
  readonly anchors: number;
  /** From one anchor to the next. */
  readonly step: number;
  readonly first: number;
  readonly end: number;
}

/** Kept from frame to frame; `classes` is -1 where no class reached the minimum. */
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

  /** The scores of an anchor are neighbours. */
  scanRows({ data, start, anchors, step, first, end }: ScoreTable, minimum: number): void {
    this.#prepare(anchors);
    const { scores, classes } = this;
    for (let anchor = 0; anchor < anchors; anchor++) {
      const row = start + anchor * step;
      const last = row + end;
      let best = minimum;
      let at = -1;
      for (let i = row + first; i < last; i++) {
        const score = data[i] as number;
        // At the minimum counts, but of equal scores the first class stays.
        if (score > best || (score === best && at < 0)) {
          best = score;
          at = i;
        }
      }
      if (at < 0) continue;
      scores[anchor] = best;
      classes[anchor] = at - row;
    }
  }

  /** The scores of a class are neighbours. */
  scanColumns({ data, start, anchors, first, end }: ScoreTable, minimum: number): void {
    this.#prepare(anchors);
    const { scores, classes } = this;
    for (let id = first; id < end; id++) {
      const column = start + id * anchors;
      for (let anchor = 0; anchor < anchors; anchor++) {
        const score = data[column + anchor] as number;
        // Compared with one number that stays in a register: nearly all end here.
        if (score < minimum) continue;
        if ((classes[anchor] as number) >= 0 && score <= (scores[anchor] as number)) continue;
        if (Number.isNaN(score)) continue;
        scores[anchor] = score;
        classes[anchor] = id;
      }
    }
  }

  /** As `scanRows`, but what is compared is the share of a class among all `step` scores of its row. */
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

/** The logit that `toProbability` makes this of. */
export const toLogit = (probability: number): number => Math.log(probability / (1 - probability));
export const toProbability = (logit: number): number => 1 / (1 + Math.exp(-logit));

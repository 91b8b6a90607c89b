/** Rows and columns paired for the greatest sum, by the solver of the tracker. */
import { Assigner } from "../../elements/track/assign.ts";

const assigner = new Assigner();

/** The column of each row, or -1. `scores` are 0 or more, row after row; pairs that score 0 are not made. */
export function assignGreatest(scores: Float64Array, rows: number, columns: number): Int32Array {
  const greatest = scores.reduce((most, score) => Math.max(most, score), 0);
  const costs = scores.map((score) => greatest - score);
  return assigner.solve(costs, rows, columns, greatest).slice();
}

/**
 * Leave-one-out: for each sequence, the candidate with the best mean on the other sequences. `scores` has a row for each
 * candidate and a column for each sequence. Returns the candidate of each sequence; the first of equal ones.
 */
export function leaveOneOut(scores: readonly (readonly number[])[]): readonly number[] {
  return (scores[0] ?? []).map((_, left) => {
    const others = scores.map((row) => row.reduce((sum, score, column) => (column === left ? sum : sum + score), 0));
    return others.indexOf(Math.max(...others));
  });
}

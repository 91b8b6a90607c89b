/** How long to wait after so many failures in a row: twice as long after each, and not all browsers at the same time. Pure but for chance. */
export const backOffMs = (firstMs: number, failures: number, mostMs: number): number =>
  Math.min(firstMs * 2 ** failures, mostMs) * (0.75 + Math.random() / 2);

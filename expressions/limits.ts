/** Limits that bound the time and memory of an expression, whatever its text. */
export const MAX_CHARS = 2_000;
export const MAX_NODES = 500;
export const MAX_DEPTH = 32;
/** Of a list in brackets. */
export const MAX_ITEMS = 100;
/** Operations of one evaluation, with every round of a loop. */
export const MAX_STEPS = 2_000;

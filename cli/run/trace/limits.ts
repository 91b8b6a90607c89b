/** A trace ends when one of the steps has processed this many frames; the run continues. */
export const MOST_FRAMES = 10_000;

/** How thick and how large things are drawn, in pixels of the frame. */
export interface Sizes {
  readonly text: number;
  /** A line of text with its background. */
  readonly line: number;
  readonly letter: number;
  readonly margin: number;
  readonly box: number;
  readonly lost: number;
  readonly dash: number;
  readonly trail: number;
  /** Dark rim of boxes, which keeps a light colour visible on a light ground. */
  readonly rim: number;
  /** Trails shorter than this are where an object stands, not where it went. */
  readonly stillness: number;
}

/** In proportion to the picture, so that it looks the same at 720p and 4K; smaller pictures keep what can be read. */
export function chooseSizes({ width, height }: { readonly width: number; readonly height: number }): Sizes {
  // The height of a 16:9 picture of the same area: a picture that stands on end gets no larger letters.
  const lines = Math.sqrt((width * height * 9) / 16);
  const text = Math.min(Math.max(Math.round(lines / 54), 11), 128);
  const box = Math.max(Math.round(lines / 400), 2);
  return {
    text,
    line: Math.round(text * 1.25),
    letter: Math.round(text * 0.602),
    margin: Math.round(text / 4),
    box,
    lost: Math.max(Math.round(box / 2), 1),
    dash: box * 4,
    trail: Math.max(lines / 300, 2),
    rim: Math.max(Math.round(lines / 1080), 1),
    stillness: text,
  };
}

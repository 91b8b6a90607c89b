/** Any character but half surrogate pairs: `unit` of `fc.string`. That of fast-check, "binary", takes a second to be made. */
import fc from "fast-check";

const points = fc.oneof(
  fc.integer({ max: 0x7f, min: 0 }),
  fc.integer({ max: 0xd7ff, min: 0 }),
  fc.integer({ max: 0x10_ffff, min: 0xe000 }),
);

export const anyCharacter = points.map((point) => String.fromCodePoint(point));

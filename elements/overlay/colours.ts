/** A colour for every class that colour-blind eyes can tell from its neighbours, and ink that can be read on it. */

/** Okabe and Ito's palette without its black. */
const PALETTE = [0xe69f00, 0x56b4e9, 0x009e73, 0xf0e442, 0xcc79a7, 0x0072b2, 0xd55e00] as const;
const WHITE = 0xffffff;
const BLACK = 0x000000;

/** Classes beyond the palette's end get lighter tints of it. */
const TINTED: readonly number[] = [...PALETTE, ...PALETTE.map((colour) => mix(colour, WHITE, 0.5))];
const INK: ReadonlyMap<number, number> = new Map(TINTED.map((colour) => [colour, chooseInk(colour)]));

/** The same for a class in every frame and process. */
export const colourOf = (classId: number): number => TINTED[classId % TINTED.length] ?? WHITE;

/** What to write with on the colour of a class. */
export const inkOn = (colour: number): number => INK.get(colour) ?? BLACK;

/** Black or white, whichever stands out more. */
function chooseInk(colour: number): number {
  return contrast(colour, BLACK) >= contrast(colour, WHITE) ? BLACK : WHITE;
}

/** As the Web Content Accessibility Guidelines define it: from 1, the same, to 21, black on white. */
export function contrast(a: number, b: number): number {
  const [darker = 0, lighter = 0] = [luminance(a), luminance(b)].sort((one, other) => one - other);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: number): number {
  const [red = 0, green = 0, blue = 0] = split(colour).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function split(colour: number): readonly number[] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

function mix(colour: number, other: number, share: number): number {
  const others = split(other);
  return split(colour).reduce((sum, part, i) => sum * 256 + Math.round(part + ((others[i] ?? 0) - part) * share), 0);
}

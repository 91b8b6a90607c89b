/** The style of the overlay: text and position of labels, colours, sizes. Pure. */
import type { Detection, Track } from "../../schemas/detections.ts";

export type LabelPart = "class" | "id" | "confidence";

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const LONGEST_NAME = 24;

/** The full label, then a shorter one for crowded frames. */
export function writeLabels(object: Detection | Track, parts: readonly LabelPart[]): readonly string[] {
  let full = "";
  for (const part of parts) {
    const word = writePart(object, part);
    full += full === "" || word === "" ? word : ` ${word}`;
  }
  if (full === "") return [];
  const short = writePart(object, "id" in object && parts.includes("id") ? "id" : (parts[0] ?? "class"));
  return short === "" || short === full ? [full] : [full, short];
}

function writePart(object: Detection | Track, part: LabelPart): string {
  switch (part) {
    case "class":
      return shorten(object.className);
    case "id":
      return "id" in object ? `#${object.id}` : "";
    case "confidence":
      return `${Math.round(object.confidence * 100)}%`;
  }
}

function shorten(name: string): string {
  if (name.length <= LONGEST_NAME) return name;
  const letters = [...name];
  return letters.length <= LONGEST_NAME ? name : `${letters.slice(0, LONGEST_NAME - 1).join("")}…`;
}

/** East Asian letters are twice as wide, combining marks have no width: approximately as the drawing kernel counts. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NARROWEST = /[\p{Mn}\p{Me}\p{Cf}]/u;
const PLAIN = /^[\x20-\x7e]*$/;

function countCells(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let cells = 0;
  for (const letter of text) cells += NARROWEST.test(letter) ? 0 : WIDE.test(letter) ? 2 : 1;
  return cells;
}

export const measure = (text: string, sizes: Sizes): number => countCells(text) * sizes.letter + 2 * sizes.margin;

/** Positions of a label, in order of preference: above the box, below it, in its corners, beside it. */
const PLACES = 8;

function leftOf(place: number, box: Rectangle, width: number): number {
  if (place === 6) return box.x + box.width;
  if (place === 7) return box.x - width;
  return place === 2 || place === 3 ? box.x + box.width - width : box.x;
}

function topOf(place: number, box: Rectangle, height: number): number {
  if (place === 0 || place === 2) return box.y - height;
  if (place === 1 || place === 3) return box.y + box.height;
  return place === 5 ? box.y + box.height - height : box.y;
}

/** Places the labels of one frame without overlap. */
export class LabelRoom {
  readonly #frame: Pick<Rectangle, "width" | "height">;
  readonly #taken: Rectangle[] = [];

  constructor(frame: Pick<Rectangle, "width" | "height">) {
    this.#frame = frame;
  }

  /** Occupies the first free position, `preferred` before all others; null if there is none. */
  take(box: Rectangle, width: number, height: number, preferred = 0): (Rectangle & { readonly place: number }) | null {
    for (let attempt = -1; attempt < PLACES; attempt += 1) {
      const place = attempt < 0 ? preferred : attempt;
      const x = Math.max(Math.min(leftOf(place, box, width), this.#frame.width - width), 0);
      const y = topOf(place, box, height);
      if (y < 0 || y + height > this.#frame.height || x + width > this.#frame.width) continue;
      if (!this.#isFree(x, y, width, height)) continue;
      const at = { x, y, width, height, place };
      this.#taken.push(at);
      return at;
    }
    return null;
  }

  #isFree(x: number, y: number, width: number, height: number): boolean {
    for (const other of this.#taken) {
      if (x >= other.x + other.width || other.x >= x + width) continue;
      if (y < other.y + other.height && other.y < y + height) return false;
    }
    return true;
  }
}

/** The palette of Okabe and Ito, safe for colour blindness, without black. */
const PALETTE = [0xe69f00, 0x56b4e9, 0x009e73, 0xf0e442, 0xcc79a7, 0x0072b2, 0xd55e00] as const;
const WHITE = 0xffffff;
const BLACK = 0x000000;

/** Classes beyond the palette get lighter tints of it. */
const TINTED: readonly number[] = [...PALETTE, ...PALETTE.map((colour) => mix(colour, WHITE, 0.5))];
const INK: ReadonlyMap<number, number> = new Map(TINTED.map((colour) => [colour, chooseInk(colour)]));

/** The colour of a class, the same in every frame and process. */
export const colourOf = (classId: number): number => TINTED[classId % TINTED.length] ?? WHITE;

/** Text colour on the colour of a class. */
export const inkOn = (colour: number): number => INK.get(colour) ?? BLACK;

/** Black or white, whichever has more contrast. */
function chooseInk(colour: number): number {
  return contrast(colour, BLACK) >= contrast(colour, WHITE) ? BLACK : WHITE;
}

/** Contrast ratio by the Web Content Accessibility Guidelines: from 1 (equal) to 21 (black on white). */
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

/** Sizes in pixels of the frame. */
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
  /** Dark rim of boxes, which keeps light colours visible on a light background. */
  readonly rim: number;
  /** Shorter trails belong to an object that stands still. */
  readonly stillness: number;
}

/** In proportion to the frame, so that it looks the same at 720p and 4K; on small frames at a readable minimum. */
export function chooseSizes({ width, height }: { readonly width: number; readonly height: number }): Sizes {
  // Height of a 16:9 frame of the same area: portrait frames get no larger letters.
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

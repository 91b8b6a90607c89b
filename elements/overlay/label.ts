/** What stands at a box: which words, how wide they come out, and where there is room for them. Pure. */
import type { Detection, Track } from "../../schemas/detections.ts";
import type { Sizes } from "./picture.ts";

export type LabelPart = "class" | "id" | "confidence";

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const LONGEST_NAME = 24;

/** All that is asked for, then what is left of it where there is little room. */
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

/** East Asian letters are twice as wide, marks on letters have no width: about as the kernel counts. */
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

/** Places of a label, in order of preference: above the box, below it, in its corners, beside it. */
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

/** Finds room for labels one after the other, never on one another. One frame. */
export class LabelRoom {
  readonly #frame: Pick<Rectangle, "width" | "height">;
  readonly #taken: Rectangle[] = [];

  constructor(frame: Pick<Rectangle, "width" | "height">) {
    this.#frame = frame;
  }

  /** Takes the first free place, `favourite` before all others; null when there is none. */
  take(box: Rectangle, width: number, height: number, favourite = 0): (Rectangle & { readonly place: number }) | null {
    for (let turn = -1; turn < PLACES; turn += 1) {
      const place = turn < 0 ? favourite : turn;
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

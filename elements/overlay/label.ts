/** What stands at a box: which words, how wide they come out, and where there is room for them. Pure. */
import type { Detection, Track } from "../../schemas/detections.ts";
import type { Sizes } from "./sizes.ts";

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
  const words: Readonly<Record<LabelPart, string>> = {
    class: shorten(object.className),
    id: "id" in object ? `#${object.id}` : "",
    confidence: `${Math.round(object.confidence * 100)}%`,
  };
  const join = (chosen: readonly LabelPart[]): string =>
    chosen.flatMap((part) => (words[part] === "" ? [] : [words[part]])).join(" ");
  const kept = parts.includes("id") && "id" in object ? "id" : parts[0];
  const labels = [join(parts), kept === undefined ? "" : join([kept])];
  return labels.filter((label, i) => label !== "" && labels.indexOf(label) === i);
}

function shorten(name: string): string {
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

type Place = (box: Rectangle, width: number, height: number) => readonly [x: number, y: number];

/** In order of preference: above the box, below it, in its corners, beside it. */
const PLACES: readonly Place[] = [
  ({ x, y }, _, high) => [x, y - high],
  ({ x, y, height }) => [x, y + height],
  ({ x, y, width }, wide, high) => [x + width - wide, y - high],
  ({ x, y, width, height }, wide) => [x + width - wide, y + height],
  ({ x, y }) => [x, y],
  ({ x, y, height }, _, high) => [x, y + height - high],
  ({ x, y, width }) => [x + width, y],
  ({ x, y }, wide) => [x - wide, y],
];

/** Finds room for labels one after the other, never on one another. One frame. */
export class LabelRoom {
  readonly #frame: Pick<Rectangle, "width" | "height">;
  readonly #taken: Rectangle[] = [];

  constructor(frame: Pick<Rectangle, "width" | "height">) {
    this.#frame = frame;
  }

  /** Takes the first free place, `favourite` before all others; null when there is none. */
  take(box: Rectangle, width: number, height: number, favourite = 0): (Rectangle & { readonly place: number }) | null {
    for (let turn = -1; turn < PLACES.length; turn += 1) {
      const place = turn < 0 ? favourite : turn;
      const [x = 0, y = -1] = PLACES[place]?.(box, width, height) ?? [];
      const at = { x: Math.max(Math.min(x, this.#frame.width - width), 0), y, width, height };
      if (y < 0 || y + height > this.#frame.height || !this.#isFree(at)) continue;
      this.#taken.push(at);
      return { ...at, place };
    }
    return null;
  }

  #isFree(at: Rectangle): boolean {
    return this.#taken.every(
      ({ x, y, width, height }) =>
        at.x >= x + width || x >= at.x + at.width || at.y >= y + height || y >= at.y + at.height,
    );
  }
}

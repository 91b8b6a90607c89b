/** Every picture with what was said of it, on one sheet, to be judged by eye. */

import { label, page } from "../../../cli/svg.ts";
import type { EnhancedData, NamedColour } from "../../../schemas/enhancement.ts";
import type { EvalPatch } from "./patch.ts";

export interface Enhanced extends EvalPatch {
  readonly data: EnhancedData;
}

const ABREAST = 5;
const CELL = { width: 240, height: 262 };
const PICTURE = { width: 224, height: 168 };
const HEAD = 34;

export function drawSheet(title: string, enhanced: readonly Enhanced[]): string {
  const rows = Math.ceil(enhanced.length / ABREAST);
  return page(ABREAST * CELL.width, HEAD + rows * CELL.height + 10, [
    label(12, 22, title, { bold: true }),
    ...enhanced.flatMap((one, index) =>
      drawCell(one, (index % ABREAST) * CELL.width + 8, HEAD + Math.floor(index / ABREAST) * CELL.height),
    ),
  ]);
}

function drawCell({ name, className, jpeg, data }: Enhanced, x: number, y: number): readonly string[] {
  const { vehicle_type: type, colour, plate, attributes } = data;
  const below = y + PICTURE.height;
  return [
    `<image x="${x}" y="${y}" width="${PICTURE.width}" height="${PICTURE.height}" href="data:image/jpeg;base64,${jpeg}"/>`,
    label(x, below + 16, name, { size: 10 }),
    ...drawColour(colour, x, below + 22),
    label(
      x,
      below + 56,
      `${type ?? className}   plate: ${plate === null ? "none" : `${plate.text} ${plate.confidence} %`}`,
      {
        size: 11,
      },
    ),
    ...Object.entries(attributes).map(([key, value], line) =>
      label(x, below + 72 + line * 12, `${key}: ${describe(value)}`, { size: 10 }),
    ),
  ];
}

function drawColour(colour: NamedColour | null, x: number, y: number): readonly string[] {
  if (colour === null) return [label(x, y + 15, "colour: none", { size: 11 })];
  const { name, rgb, share } = colour;
  return [
    `<rect x="${x}" y="${y}" width="36" height="20" fill="rgb(${rgb.join(",")})" stroke="#888"/>`,
    label(x + 44, y + 15, `${name} ${Math.round(share * 100)} %`, { size: 12, bold: true }),
  ];
}

const describe = (value: unknown): string =>
  typeof value === "object" && value !== null && "name" in value ? String(value.name) : String(value);

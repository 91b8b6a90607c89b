/** The SVG shapes of our plots, and graphs drawn by Graphviz. */

import type { GraphPlan } from "../graphs/compiler/plan.ts";
import { toDot } from "../graphs/compiler/plan-to-diagram.ts";
import { writeText } from "./files.ts";

/** Distinguishable by colour-blind readers (Okabe and Ito). */
export const COLOURS = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#8c6bb1",
  "#b8a600",
] as const;
export const INK = "#222222";
export const FAINT = "#dddddd";

export interface TextStyle {
  readonly size?: number;
  readonly anchor?: "start" | "middle" | "end";
  readonly bold?: boolean;
  readonly colour?: string;
}

export const escapeText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

export function label(x: number, y: number, text: string, style: TextStyle = {}): string {
  const { size = 11, anchor = "start", bold = false, colour = INK } = style;
  const weight = bold ? ' font-weight="bold"' : "";
  return `<text x="${place(x)}" y="${place(y)}" font-size="${size}" text-anchor="${anchor}"${weight} fill="${colour}">${escapeText(text)}</text>`;
}

export const line = (x1: number, y1: number, x2: number, y2: number, colour: string, width = 1): string =>
  `<line x1="${place(x1)}" y1="${place(y1)}" x2="${place(x2)}" y2="${place(y2)}" stroke="${colour}" stroke-width="${width}"/>`;

/** `hint` is the tooltip. */
export function bar(x: number, y: number, width: number, height: number, colour: string, hint: string): string {
  const size = `x="${place(x)}" y="${place(y)}" width="${place(width)}" height="${place(height)}"`;
  return `<rect ${size} fill="${colour}"><title>${escapeText(hint)}</title></rect>`;
}

export function path(points: readonly (readonly [number, number])[], colour: string, width: number): string {
  const list = points.map(([x, y]) => `${place(x)},${place(y)}`).join(" ");
  return `<polyline points="${list}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linejoin="round"/>`;
}

export const page = (width: number, height: number, marks: readonly string[]): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${Math.ceil(height)}" viewBox="0 0 ${width} ${Math.ceil(height)}" font-family="sans-serif">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    ...marks,
    "</svg>",
    "",
  ].join("\n");

const place = (value: number): number => Math.round(value * 100) / 100;

export async function writeSvg(plan: GraphPlan, file: string): Promise<void> {
  const { Graphviz } = await import("@hpcc-js/wasm-graphviz");
  const graphviz = await Graphviz.load();
  await writeText(file, graphviz.dot(toDot(plan)));
}

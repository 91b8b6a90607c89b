/** What everything on the map is drawn with. */
import { type Offset, type Spot, toOffset } from "./ground.ts";
import { type Look, type Pixel, toPixel } from "./look.ts";

export interface Colours {
  readonly line: string;
  readonly text: string;
  readonly accent: string;
  /** Of the ground below everything. */
  readonly card: string;
  /** Per cent: what colours of tracks need to be seen on it. */
  readonly lightness: number;
}

export interface Sheet {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly look: Look;
  readonly colours: Colours;
  /** Of text, in pixels: as large as the page's. */
  readonly textSize: number;
  place(offset: Offset): Pixel;
  /** From the origin of the look. */
  offset(spot: Spot): Offset;
}

/** Null where the browser has no canvas. */
export function openSheet(canvas: HTMLCanvasElement, look: Look): Sheet | null {
  const context = canvas.getContext("2d");
  if (context === null) return null;
  const scale = window.devicePixelRatio;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const textSize = Number.parseFloat(style.fontSize) * 0.82;
  context.font = `${textSize}px ${style.fontFamily}`;
  context.lineJoin = "round";
  const isDark = document.documentElement.dataset.theme === "dark";
  return {
    ...{ context, width, height, look, textSize },
    colours: {
      ...{ line: colour("--line"), text: colour("--text"), accent: colour("--accent"), card: colour("--card") },
      lightness: isDark ? 65 : 38,
    },
    place: (offset) => toPixel(look, { width, height }, offset),
    offset: (spot) => toOffset(look.origin, spot),
  };
}

/** With a rim in the colour of the ground: readable on lines and trails, too. */
export function write({ context, colours }: Sheet, text: string, x: number, y: number): void {
  context.lineWidth = 4;
  context.strokeStyle = colours.card;
  context.strokeText(text, x, y);
  context.fillStyle = colours.text;
  context.fillText(text, x, y);
}

export function trace({ context }: Sheet, points: readonly Pixel[]): void {
  context.beginPath();
  for (const [i, [x, y]] of points.entries()) {
    if (i === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  }
}

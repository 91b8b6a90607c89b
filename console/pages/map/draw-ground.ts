/** The grid, how long a metre is, and where north is. */
import { roundLength } from "./ground.ts";
import { type Sheet, trace, write } from "./sheet.ts";

const GRID_PIXELS = 120;

export function drawGrid({ context, width, height, look, colours, place }: Sheet): void {
  const { centre, metresPerPixel } = look;
  const step = roundLength(metresPerPixel * GRID_PIXELS);
  const lines = (middle: number, half: number): readonly number[] => {
    const first = Math.ceil((middle - half) / step);
    return Array.from({ length: Math.floor((middle + half) / step) - first + 1 }, (_, i) => (first + i) * step);
  };
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const east of lines(centre[0], (width / 2) * metresPerPixel)) {
    const [x] = place([east, 0]);
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  for (const north of lines(centre[1], (height / 2) * metresPerPixel)) {
    const [, y] = place([0, north]);
    context.moveTo(0, y);
    context.lineTo(width, y);
  }
  context.stroke();
}

export function drawScale(sheet: Sheet): void {
  const { context, width, height, look, colours, textSize } = sheet;
  const length = roundLength(look.metresPerPixel * Math.min(160, width / 4));
  const right = 16 + length / look.metresPerPixel;
  context.strokeStyle = colours.text;
  context.lineWidth = 2;
  trace(sheet, [
    [16, height - 22],
    [16, height - 16],
    [right, height - 16],
    [right, height - 22],
  ]);
  context.stroke();
  write(sheet, formatLength(length), 22, height - 24);
  write(sheet, "N ↑", width - textSize * 2.6, textSize + 8);
}

function formatLength(metres: number): string {
  if (metres >= 1000) return `${metres / 1000} km`;
  return metres >= 1 ? `${metres} m` : `${Math.round(metres * 100)} cm`;
}

/** A camera, which way it looks, and the ground that it sees. */
import { footprint, isPose } from "./ground.ts";
import type { Camera } from "./scene.ts";
import { type Sheet, trace, write } from "./sheet.ts";

const ARROW = [
  [0, -12],
  [8, 9],
  [0, 5],
  [-8, 9],
] as const;

export function drawCamera(sheet: Sheet, camera: Camera): void {
  const { context, colours, place, textSize } = sheet;
  const [east, north] = sheet.offset(camera);
  const [x, y] = place([east, north]);
  context.strokeStyle = colours.accent;
  context.fillStyle = colours.accent;
  if (isPose(camera) && camera.rel_altitude > 0) {
    trace(
      sheet,
      footprint(camera).map(([e, n]) => place([east + e, north + n])),
    );
    context.closePath();
    context.globalAlpha = 0.12;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.stroke();
  }
  context.save();
  context.translate(x, y);
  context.rotate(((camera.camera_yaw ?? 0) * Math.PI) / 180);
  trace(sheet, ARROW);
  context.closePath();
  context.fill();
  context.restore();
  const height = camera.rel_altitude === undefined ? "" : `, ${Math.round(camera.rel_altitude)} m up`;
  write(sheet, `camera${height}`, x + 12, y + textSize);
}

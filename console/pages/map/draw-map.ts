/** The map: a grid, cameras with what they see, tracks with where they came from. North is up. */
import { drawCamera } from "./draw-camera.ts";
import { drawGrid, drawScale } from "./draw-ground.ts";
import { drawTracks } from "./draw-tracks.ts";
import type { Look } from "./look.ts";
import type { Scene } from "./scene.ts";
import { openSheet } from "./sheet.ts";

export function drawMap(canvas: HTMLCanvasElement, scene: Scene, look: Look): void {
  const sheet = openSheet(canvas, look);
  if (sheet === null) return;
  drawGrid(sheet);
  for (const camera of scene.cameras.values()) drawCamera(sheet, camera);
  drawTracks(sheet, [...scene.tracks.values()]);
  drawScale(sheet);
}

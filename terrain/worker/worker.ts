/**
 * Shades map tiles in a worker thread: a tile takes tens of milliseconds, and reads files synchronously. One request at a
 * time.
 */
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { PNG } from "pngjs";
import { shadeTile, TILE_PIXELS } from "../shade.ts";
import { TerrainFolder } from "../terrain-folder.ts";
import type { ShadeAnswer, ShadeRequest, ShadeSettings } from "./messages.ts";

const { folder } = workerData as ShadeSettings;
// Of this thread: detection and streams come first.
setPriority(10);
const terrain = new TerrainFolder(folder);

function answer(tile: ShadeRequest): ShadeAnswer {
  const pixels = shadeTile(terrain, tile);
  if (pixels === null) return { png: null };
  const image = new PNG({ width: TILE_PIXELS, height: TILE_PIXELS });
  image.data = Buffer.from(pixels.buffer);
  // Grey with alpha.
  return { png: PNG.sync.write(image, { colorType: 4 }) };
}

parentPort?.on("message", (request: ShadeRequest) => parentPort?.postMessage(answer(request)));
parentPort?.postMessage("ready");

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { paintCar } from "../painted-car.fixture.ts";
import { crop, decodePicture, type Picture, resize } from "../picture.ts";
import { openPlateReader } from "./plate-reader.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-plate-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** It comes with the packages that draw text on frames. */
const FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf";

/** Letters on white, by ffmpeg. */
function writePlate(text: string): Picture {
  const file = join(folder, "plate.jpg");
  const letters = `drawtext=fontfile=${FONT}:text=${text}:fontsize=38:fontcolor=0x101010:x=(w-tw)/2:y=(h-th)/2`;
  const args = ["-v", "error", "-y", "-f", "lavfi", "-i", "color=white:s=260x60", "-vf", letters, "-frames:v", "1"];
  execFileSync("ffmpeg", [...args, "-q:v", "2", file]);
  return decodePicture(readFileSync(file)) as Picture;
}

/** At the position of a plate on a car. */
function mount(plate: Picture, wide: number): Picture {
  const car = paintCar({ paint: [150, 30, 34], width: 480 });
  const small = resize(plate, wide, Math.round((wide * plate.height) / plate.width));
  const rgb = car.rgb.slice();
  const [left, top] = [Math.round((car.width - small.width) / 2), Math.round(car.height * 0.58)];
  for (let y = 0; y < small.height; y++)
    rgb.set(small.rgb.subarray(y * small.width * 3, (y + 1) * small.width * 3), ((top + y) * car.width + left) * 3);
  return { ...car, rgb };
}

test("reads a legible plate, and rejects illegible ones and other lettering", async (context) => {
  const reader = await openPlateReader();
  if (typeof reader === "string") return context.skip(reader);
  const plate = writePlate("KA 4521 X");
  const near = await reader.read(mount(plate, 170));
  assert.equal(near?.text, "KA4521X");
  assert.ok((near?.confidence ?? 0) > 92);
  const far = mount(plate, 170);
  const blurred = resize(resize(far, 60, Math.round((60 * far.height) / far.width)), far.width, far.height);
  assert.equal(await reader.read(blurred), null);
  assert.equal(await reader.read(mount(writePlate("EXPRESS"), 170)), null);
  assert.equal(await reader.read(crop(far, [0, 0, 80, 60])), null);
});

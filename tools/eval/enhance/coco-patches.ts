/** Objects of a folder in COCO's format, cut out as the element `report` would. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { encode } from "jpeg-js";
import { CommandFailure } from "../../../cli/command.ts";
import { crop, decodePicture, type Picture, shrink } from "../../../enhance/picture.ts";
import { MOST_PATCH_PIXELS } from "../../../schemas/track-report.ts";
import { choosePatch } from "../../../vision/patch.ts";
import { readDataset, type TrueObject } from "../coco/dataset.ts";
import type { EvalPatch } from "./patch.ts";
import type { Wanted } from "./wanted.ts";

const QUALITY = 85;

/** Crowds are nobody's picture. */
export function cutPatches(folder: string, { classNames, leastPixels }: Wanted): readonly EvalPatch[] {
  const fits = ({ className, box, isCrowd }: TrueObject): boolean =>
    !isCrowd && classNames.includes(className) && Math.max(box[2], box[3]) >= leastPixels;
  return readDataset(folder).pictures.flatMap(({ file, width, height, truth }) => {
    const objects = truth.filter(fits);
    if (objects.length === 0) return [];
    const picture = decodePicture(readFileSync(file));
    if (picture === null) throw new CommandFailure(`${file} is no JPEG that can be decoded`);
    return objects.flatMap(({ className, box: [left, top, wide, high] }) => {
      const region = choosePatch([left / width, top / height, wide / width, high / height]);
      if (region === null) return [];
      const part = crop(picture, [region.x * width, region.y * height, region.width * width, region.height * height]);
      const name = `${basename(file)} ${Math.round(left)},${Math.round(top)}`;
      return [{ name, className, jpeg: toJpeg(shrink(part, MOST_PATCH_PIXELS)).toString("base64") }];
    });
  });
}

export function toJpeg({ width, height, rgb }: Picture): Buffer {
  const rgba = new Uint8Array(width * height * 4).fill(255);
  for (let i = 0; i < width * height; i++) rgba.set(rgb.subarray(i * 3, i * 3 + 3), i * 4);
  return encode({ width, height, data: rgba }, QUALITY).data;
}

/** The objects to enhance: cropped from a COCO dataset, or found in a clip with the image of their track report. */

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { encode } from "jpeg-js";
import { CommandFailure } from "../../../cli/command.ts";
import type { Knowledge } from "../../../cli/compile-graph.ts";
import { GraphFiles, locateGraph } from "../../../cli/graph-files.ts";
import { crop, decodePicture, type Picture, shrink } from "../../../enhance/picture.ts";
import { compile } from "../../../graphs/compiler/compile.ts";
import type { JsonRecord } from "../../../schemas/json.ts";
import { MOST_PATCH_PIXELS, TRACK_REPORT_CHANNEL, type TrackReport } from "../../../schemas/track-report.ts";
import { choosePatch } from "../../../vision/patch.ts";
import { playGraph } from "../clip/run-clip.ts";
import { readDataset, type TrueObject } from "../coco/dataset.ts";

const GRAPH = `
graph: eval-enhance
about: The graph detect, for the images of its track report.
extends: detect
`;

/** Objects in a clip. Throws `CommandFailure` for a clip that cannot be played. */
export async function findPatches(
  clip: string,
  model: string,
  { classNames, leastPixels }: Wanted,
  knowledge: Knowledge,
): Promise<readonly EvalPatch[]> {
  const found = new Map<number, EvalPatch>();
  const onMessage = async (_: string, channel: string, message: JsonRecord): Promise<void> => {
    if (channel !== TRACK_REPORT_CHANNEL) return;
    for (const { id, className, patch } of (message as TrackReport).tracks)
      if (patch !== undefined) found.set(id, { name: `${basename(clip)} track ${id}`, className, jpeg: patch.jpeg });
  };
  const load = new GraphFiles(locateGraph("detect")).loader();
  const source = { uri: clip, pace: "fast" } as const;
  const compiled = compile({ file: null, text: GRAPH }, { ...knowledge, load, source, params: { model } });
  await playGraph(compiled, knowledge, { send: onMessage });
  return [...found.values()].filter((patch) => classNames.includes(patch.className) && isLarge(patch, leastPixels));
}

function isLarge({ jpeg }: EvalPatch, leastPixels: number): boolean {
  const picture = decodePicture(Buffer.from(jpeg, "base64"));
  return picture !== null && Math.max(picture.width, picture.height) >= leastPixels;
}

const QUALITY = 85;

/** Objects of a COCO dataset, cropped as the element `report` does; crowds are skipped. */
export function cutPatches(folder: string, { classNames, leastPixels }: Wanted): readonly EvalPatch[] {
  const fits = ({ className, box, isCrowd }: TrueObject): boolean =>
    !isCrowd && classNames.includes(className) && Math.max(box[2], box[3]) >= leastPixels;
  return readDataset(folder).pictures.flatMap(({ file, width, height, truth }) => {
    const objects = truth.filter(fits);
    if (objects.length === 0) return [];
    const picture = decodePicture(readFileSync(file));
    if (picture === null) throw new CommandFailure(`${file} cannot be decoded as a JPEG image`);
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

/** A picture of an object, and where it comes from. */
export interface EvalPatch {
  /** `000000155341.jpg 152,285` of a picture, `street.mp4 track 7` of a clip. */
  readonly name: string;
  readonly className: string;
  /** In base64. */
  readonly jpeg: string;
}

/** Which objects are enhanced. */
export interface Wanted {
  readonly classNames: readonly string[];
  /** Of the longer side of the box. */
  readonly leastPixels: number;
}

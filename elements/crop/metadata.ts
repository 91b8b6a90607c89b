/** The metadata of a frame after it was cropped. Pure. */
import type { CameraMotion } from "../../schemas/camera-motion.ts";
import type { Box, Detection, Detections, Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import type { FrameMetadata } from "../element.ts";
import { croppedPart } from "./region.ts";

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The keys that change. `crop` is what is left of the picture, in fractions of the whole, also after several crops. */
export function cropMetadata(meta: FrameMetadata, region: Box, size: Size): FrameMetadata {
  const part = croppedPart(region, size);
  const { detections, tracks, places, cameraMotion, crop } = meta as {
    readonly detections?: Detections;
    readonly tracks?: Tracks;
    readonly places?: Places;
    readonly cameraMotion?: CameraMotion;
    readonly crop?: Box;
  };
  const kept = (tracks ?? detections)?.objects.map(({ box }) => cropBox(box, part) !== null);
  return {
    crop: crop === undefined ? part : within(part, crop),
    ...(detections && {
      detections: {
        ...detections,
        objects: cropObjects(detections.objects, part),
        weak: cropObjects(detections.weak, part),
      },
    }),
    ...(tracks && {
      tracks: {
        ...tracks,
        objects: cropObjects(tracks.objects, part).map((track) => ({
          ...track,
          velocity: [track.velocity[0] / part[2], track.velocity[1] / part[3]],
        })),
      },
    }),
    ...(places && { places: cropPlaces(places, kept ?? []) }),
    ...(cameraMotion && { cameraMotion: cropMotion(cameraMotion, part, size) }),
  };
}

/** A box in fractions of the part, or null outside of it. */
function cropBox([left, top, width, height]: Box, [x, y, wide, high]: Box): Box | null {
  const hold = (value: number): number => Math.min(Math.max(value, 0), 1);
  const [from, until] = [hold((left - x) / wide), hold((left + width - x) / wide)];
  const [upper, lower] = [hold((top - y) / high), hold((top + height - y) / high)];
  return until > from && lower > upper ? [from, upper, until - from, lower - upper] : null;
}

const cropObjects = <T extends Detection>(objects: readonly T[], part: Box): T[] =>
  objects.flatMap((object) => {
    const box = cropBox(object.box, part);
    return box === null ? [] : [{ ...object, box }];
  });

/** Positions on the ground do not change, except for that of the middle of the picture. */
function cropPlaces({ centre: _, objects, ...places }: Places, kept: readonly boolean[]): Places {
  return { ...places, objects: objects.filter((_place, index) => kept[index] === true) };
}

/** The same motion in heights of the part, from its corner: p → M p + (M o + t - o) / s, with its corner o and height s. */
function cropMotion({ a, b, right, down }: CameraMotion, [x, y, , high]: Box, { width, height }: Size): CameraMotion {
  const [ox, oy] = [(x * width) / height, y];
  return { a, b, right: (a * ox - b * oy + right - ox) / high, down: (b * ox + a * oy + down - oy) / high };
}

/** A part of a part, in fractions of the whole. */
const within = ([x, y, wide, high]: Box, [left, top, width, height]: Box): Box => [
  left + x * width,
  top + y * height,
  wide * width,
  high * height,
];

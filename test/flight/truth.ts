/** What is true of a flight, frame by frame. */
import { focalOf, type Lens, type Pose, project } from "./camera.ts";
import { CAR_HEIGHT } from "./sprite.ts";
import { type Flight, poseAt } from "./trajectory.ts";
import { listTargets, ORIGIN, placeAt, toPlace } from "./world.ts";

export interface TrueTarget {
  readonly id: number;
  readonly className: string;
  readonly latitude: number;
  readonly longitude: number;
  /** Left, top, width, height in pixels; may reach beyond the picture. */
  readonly box: readonly [number, number, number, number];
}

export interface TrueFrame {
  readonly seconds: number;
  readonly camera: {
    readonly latitude: number;
    readonly longitude: number;
    readonly altitude: number;
    readonly yaw: number;
    readonly pitch: number;
    readonly roll: number;
  };
  /** Those of which something is in the picture. */
  readonly targets: readonly TrueTarget[];
}

export interface Truth {
  readonly fps: number;
  readonly lens: Lens;
  readonly frames: readonly TrueFrame[];
}

export const frameCount = ({ seconds }: Flight, fps: number): number => Math.round(seconds * fps);

export function tellTruth(flight: Flight, lens: Lens, fps: number): Truth {
  const frames = Array.from({ length: frameCount(flight, fps) }, (_, index) => tellFrame(flight, lens, index / fps));
  return { fps, lens, frames };
}

function tellFrame(flight: Flight, lens: Lens, seconds: number): TrueFrame {
  const pose = poseAt(flight, seconds);
  const { yaw, pitch, roll } = pose;
  return {
    seconds,
    camera: { ...toPlace(pose.at), altitude: ORIGIN.altitude + pose.at[2], yaw, pitch, roll },
    targets: listTargetsSeen(pose, lens, seconds),
  };
}

function listTargetsSeen(pose: Pose, lens: Lens, seconds: number): readonly TrueTarget[] {
  return listTargets().flatMap((target) => {
    const foot = placeAt(target, seconds);
    const pixel = project(foot, pose, lens);
    if (pixel === null) return [];
    const width = (target.length * focalOf(lens)) / pixel.depth;
    const height = width * CAR_HEIGHT;
    const box = [pixel.x - width / 2, pixel.y - height, width, height] as const;
    const isSeen = box[0] < lens.width && box[0] + width > 0 && box[1] < lens.height && box[1] + height > 0;
    return isSeen ? [{ id: target.id, className: target.className, ...toPlace(foot), box }] : [];
  });
}

/** Nothing of it is cut off. */
export const isWhole = ([left, top, width, height]: TrueTarget["box"], lens: Lens): boolean =>
  left >= 0 && top >= 0 && left + width <= lens.width && top + height <= lens.height;

/** Ground truth of a flight, frame by frame. */
import { focalOf, type Lens, type Pose, project } from "./camera.ts";
import { CAR_HEIGHT } from "./textures.ts";
import { type Flight, frameCount, listTargets, ORIGIN, placeAt, poseAt, toPlace } from "./world.ts";

export interface TrueTarget {
  readonly id: number;
  readonly className: string;
  readonly latitude: number;
  readonly longitude: number;
  /** Left, top, width, height in pixels; may exceed the picture. */
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
  /** Targets that are at least partly in the picture. */
  readonly targets: readonly TrueTarget[];
}

export interface Truth {
  readonly fps: number;
  readonly lens: Lens;
  readonly frames: readonly TrueFrame[];
}

export function describeTruth(flight: Flight, lens: Lens, fps: number): Truth {
  const frames = Array.from({ length: frameCount(flight, fps) }, (_, index) =>
    describeFrame(flight, lens, index / fps),
  );
  return { fps, lens, frames };
}

function describeFrame(flight: Flight, lens: Lens, seconds: number): TrueFrame {
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

/** Whether a box is completely inside the picture. */
export const isWhole = ([left, top, width, height]: TrueTarget["box"], lens: Lens): boolean =>
  left >= 0 && top >= 0 && left + width <= lens.width && top + height <= lens.height;

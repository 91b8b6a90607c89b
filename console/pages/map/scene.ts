/** Cameras and geolocated tracks, from the events of processes. Pure. */
import type { DetectionMessage, DroneDataMessage } from "../../../client/client.ts";
import type { Pose, Position } from "./ground.ts";

export interface MapTrack {
  readonly key: string;
  readonly id: number;
  readonly name: string;
  /** Oldest first, at least one. */
  readonly trail: Position[];
  readonly errorM: number;
  readonly speedMps: number | null;
  readonly seenMs: number;
}

export type Camera = Partial<Pose> & Position;

const MAX_TRAIL = 200;
const MAX_AGE_MS = 30_000;

export class Scene {
  readonly tracks = new Map<string, MapTrack>();
  /** By process. */
  readonly cameras = new Map<string, Camera>();
  /** Increases with every change. */
  version = 0;

  addDetections({ process_uuid, active_tracks }: DetectionMessage, nowMs: number): void {
    for (const track of active_tracks) {
      const { latitude, longitude, track_id, class_name, position_error_m = 0, speed_mps = null } = track;
      if (latitude === undefined || longitude === undefined) continue;
      const key = `${process_uuid} ${track_id}`;
      const trail = this.tracks.get(key)?.trail ?? [];
      trail.push({ latitude, longitude });
      if (trail.length > MAX_TRAIL) trail.shift();
      this.tracks.set(key, {
        ...{ key, id: track_id, name: class_name, trail },
        ...{ errorM: position_error_m, speedMps: speed_mps, seenMs: nowMs },
      });
      this.version += 1;
    }
    this.expire(nowMs);
  }

  addDrone(processUuid: string, message: DroneDataMessage): void {
    const { latitude, longitude } = message;
    if (typeof latitude !== "number" || typeof longitude !== "number") return;
    this.cameras.set(processUuid, { ...(message as Partial<Pose>), latitude, longitude });
    this.version += 1;
  }

  /** Removes old tracks. Also called by a timer, for processes that send no more events. */
  expire(nowMs: number): void {
    for (const [key, { seenMs }] of this.tracks) if (nowMs - seenMs > MAX_AGE_MS) this.#remove(this.tracks, key);
  }

  /** Removes cameras and tracks of all other processes. */
  retain(processUuids: readonly string[]): void {
    for (const uuid of this.cameras.keys()) if (!processUuids.includes(uuid)) this.#remove(this.cameras, uuid);
    for (const key of this.tracks.keys())
      if (!processUuids.includes(key.split(" ")[0] ?? "")) this.#remove(this.tracks, key);
  }

  #remove(from: Map<string, unknown>, key: string): void {
    from.delete(key);
    this.version += 1;
  }
}

/** Cameras and geolocated tracks, from messages of processes. Pure. */
import type { CameraMessage, DetectionMessage, DroneDataMessage } from "../../client/client.ts";

export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

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

export interface Camera extends Position {
  /** Metres above mean sea level, or above the ground. */
  readonly altitude?: number;
  /** Degrees from north, clockwise. */
  readonly heading?: number;
  readonly footprint?: CameraMessage["footprint"];
}

const MAX_TRAIL = 200;
/** How long a track stays after it was seen, and how long its trail is. */
export const MAX_AGE_MS = 30_000;

export class Scene {
  readonly tracks = new Map<string, MapTrack>();
  /** By process. */
  readonly cameras = new Map<string, Camera>();
  /** That the user has chosen. */
  mark: Position | null = null;
  /** Increases with every change. */
  version = 0;
  /** Processes that report what their camera sees: more than the telemetry says. */
  readonly #reporting = new Set<string>();

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

  addCamera({ process_uuid, latitude, longitude, altitude, heading, footprint }: CameraMessage): void {
    this.#reporting.add(process_uuid);
    this.cameras.set(process_uuid, {
      ...{ latitude, longitude, altitude },
      ...(heading !== undefined && { heading }),
      ...(footprint !== undefined && { footprint }),
    });
    this.version += 1;
  }

  /** Telemetry, for processes that do not geolocate. */
  addDrone(processUuid: string, { latitude, longitude, camera_yaw, altitude }: DroneDataMessage): void {
    if (typeof latitude !== "number" || typeof longitude !== "number" || this.#reporting.has(processUuid)) return;
    this.cameras.set(processUuid, {
      ...{ latitude, longitude },
      ...(altitude !== undefined && { altitude }),
      ...(camera_yaw !== undefined && { heading: camera_yaw }),
    });
    this.version += 1;
  }

  setMark(position: Position | null): void {
    this.mark = position;
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

  /** Before another time is shown. */
  clear(): void {
    this.tracks.clear();
    this.cameras.clear();
    this.version += 1;
  }

  #remove(from: Map<string, unknown>, key: string): void {
    from.delete(key);
    this.version += 1;
  }
}

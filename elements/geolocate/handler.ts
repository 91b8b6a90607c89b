import { Compile } from "typebox/compile";
import type { Detection, Detections, Track, Tracks } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { PictureCentre, Place, Places } from "../../schemas/places.ts";
import {
  type FrameTelemetry,
  LANDMARK_CHANNEL,
  type LandmarkAnswer,
  LandmarkQuestion,
} from "../../schemas/telemetry.ts";
import { TerrainFolder } from "../../terrain/terrain-folder.ts";
import type { ElementEvent, Frame, Handler, Services } from "../element.ts";
import { calibrate, type Sighting } from "./calibrate.ts";
import { CameraReporter } from "./camera-reporter.ts";
import type { Terrain } from "./ground.ts";
import {
  ellipseOf,
  errorM,
  type GeolocateProperties,
  type LocatedSpot,
  locate,
  locateCentre,
  openSight,
  type Sight,
  separationM,
} from "./locate.ts";
import { type Motion, Motions, UNKNOWN_MOTION } from "./motion.ts";
import { findKind, type Kind } from "./sizes.ts";
import { localFrame } from "./wgs84.ts";

/** Null without a folder of the operator: the ground is level then. Its files are listed when the first position arrives. */
export function openTerrain({ job, log }: Pick<Services, "job" | "log">): Terrain | null {
  const { terrainFolder = null } = job;
  if (terrainFolder === null) return null;
  let folder: TerrainFolder | null | undefined;
  const open = (): TerrainFolder | null => {
    try {
      return new TerrainFolder(terrainFolder, ({ file, reason }) =>
        log.warn("terrain file unreadable", { file, reason }),
      );
    } catch (error) {
      log.error("terrain folder unreadable", { reason: (error as Error).message });
      return null;
    }
  };
  return {
    heightAt(latitude, longitude) {
      if (folder === undefined) folder = open();
      return folder?.heightAt(latitude, longitude) ?? Number.NaN;
    },
  };
}

type GeolocateDeps = Pick<Services, "emit"> & Partial<Pick<Services, "answer">>;

/** Reads `tracks` or `detections`, and `telemetry`; writes `places` if there is usable telemetry. */
export class GeolocateHandler implements Pick<Handler, "process" | "flush" | "close"> {
  readonly #motions = new Motions();
  readonly #reporter: ModeReporter;
  readonly #cameras: CameraReporter;
  /** Cache, bounded by the number of labels of the model. */
  readonly #kinds = new Map<string, Kind>();
  readonly #terrain: Terrain | null;
  readonly #recent = new RecentTelemetry();
  readonly #endAnswers: () => void;
  #properties: GeolocateProperties;
  /** Time of the last frame with an object where the terrain is unknown. */
  #assumedS = Number.NEGATIVE_INFINITY;

  /** Without a terrain, the ground is level. */
  constructor(properties: GeolocateProperties, services: GeolocateDeps, terrain: Terrain | null = null) {
    this.#properties = properties;
    this.#terrain = terrain;
    this.#reporter = new ModeReporter((event) => services.emit(event));
    this.#cameras = new CameraReporter((event) => services.emit(event));
    this.#endAnswers = services.answer?.(LANDMARK_CHANNEL, (message) => this.#answer(message)) ?? (() => {});
  }

  process(frame: Frame): undefined {
    const { telemetry, tracks, detections } = frame.meta as {
      telemetry?: FrameTelemetry;
      tracks?: Tracks;
      detections?: Detections;
    };
    if (tracks !== undefined) this.#motions.forget(tracks.ended);
    const sight = telemetry === undefined ? null : openSight(telemetry, this.#properties, this.#terrain);
    const mode = sight === null ? "none" : sight.world === null ? "reduced" : "full";
    if (telemetry !== undefined && mode === "full") this.#recent.put(Number(frame.captureNs) / 1e6, telemetry);
    const timeS = Number(frame.captureNs) / 1e9;
    const found = tracks ?? detections;
    const objects = sight === null ? [] : (found?.objects.map((object) => this.#place(object, sight, timeS)) ?? []);
    const isAssumed = Math.abs(timeS - this.#assumedS) < ASSUMED_S;
    const reason = explain(telemetry, sight) ?? (isAssumed ? ASSUMED : null);
    this.#reporter.update(frame.captureNs, mode, reason, telemetry?.offsetMs ?? null);
    if (telemetry !== undefined) this.#cameras.update(frame.captureNs, telemetry, sight);
    if (telemetry === undefined || sight === null || found === undefined) return;
    const centre = this.#findCentre(sight);
    const places: Places = { mode, objects, ...(centre !== null && { centre }), ageMs: telemetry.ageMs };
    frame.write({ places });
  }

  update(properties: GeolocateProperties): void {
    this.#properties = properties;
  }

  flush(): void {
    this.#motions.clear();
  }

  close(): void {
    this.#endAnswers();
  }

  /** Invalid messages do not occur: the server has checked them. */
  #answer(message: JsonRecord): LandmarkAnswer {
    if (!QUESTION.Check(message)) return { fault: "the question has another form than this version expects" };
    const sightings: Sighting[] = [];
    for (const [at, { timeMs, ...landmark }] of message.landmarks.entries()) {
      const telemetry = this.#recent.find(timeMs);
      if (telemetry === null) return { fault: `landmark ${at + 1}: ${this.#recent.explain(timeMs)}` };
      sightings.push({ telemetry, landmark });
    }
    return calibrate(sightings, this.#properties, this.#terrain);
  }

  #place(object: Detection | Track, sight: Sight, timeS: number): Place {
    const kind = this.#findKind(object.className);
    const { azimuth, elevation, distanceM, isDistanceEstimated, spot } = locate(
      sight,
      object.box,
      kind,
      this.#properties.footError,
    );
    return {
      azimuth,
      elevation,
      distance: distanceM,
      isDistanceEstimated,
      ...(spot !== null && { ellipse: ellipseOf(spot.covariance, localFrame(spot.latitude, spot.longitude)) }),
      spot: spot && this.#describe(object, timeS, spot),
    };
  }

  #findCentre(sight: Sight): PictureCentre | null {
    const spot = locateCentre(sight);
    if (spot === null) return null;
    const { latitude, longitude, heightM, distanceM: distance, covariance } = spot;
    const altitude = heightM - separationM(this.#properties, latitude, longitude);
    return { latitude, longitude, altitude, errorM: errorM(covariance), distance };
  }

  #describe(object: Detection | Track, timeS: number, spot: LocatedSpot): NonNullable<Place["spot"]> {
    const { latitude, longitude, heightM, covariance } = spot;
    const { speedMps, heading } = this.#follow(object, timeS, spot);
    const altitude = heightM - separationM(this.#properties, latitude, longitude);
    if (spot.isAssumed) this.#assumedS = timeS;
    return { latitude, longitude, altitude, errorM: errorM(covariance), speedMps, heading };
  }

  #follow(object: Detection | Track, timeS: number, spot: LocatedSpot): Motion {
    if (!("id" in object)) return UNKNOWN_MOTION;
    return object.predicted ? this.#motions.recall(object.id, spot) : this.#motions.take(object.id, timeS, spot);
  }

  #findKind(className: string): Kind {
    const known = this.#kinds.get(className);
    if (known !== undefined) return known;
    const kind = findKind(className);
    this.#kinds.set(className, kind);
    return kind;
  }
}

const QUESTION = Compile(LandmarkQuestion);

/** How long it is reported after the last such object: it should not come and go with every frame. */
const ASSUMED_S = 10;
const ASSUMED = "objects are outside the terrain data: level ground is assumed for them";

/** How long the telemetry of frames is kept for landmarks, and of how many frames. */
const KEPT_MS = 60_000;
const MOST_KEPT = 4096;
/** A frame this near to the time of a landmark is the one that was meant. */
const NEAR_MS = 500;

/** The camera of the last frames. */
class RecentTelemetry {
  readonly #kept: { readonly timeMs: number; readonly telemetry: FrameTelemetry }[] = [];

  put(timeMs: number, telemetry: FrameTelemetry): void {
    const last = this.#kept.at(-1)?.timeMs ?? timeMs;
    // The video restarted.
    if (timeMs < last) this.#kept.length = 0;
    this.#kept.push({ timeMs, telemetry });
    if (this.#kept.length <= MOST_KEPT && timeMs - (this.#kept[0]?.timeMs ?? timeMs) <= 2 * KEPT_MS) return;
    const from = this.#kept.findIndex((entry) => timeMs - entry.timeMs <= KEPT_MS);
    this.#kept.splice(0, Math.max(from, this.#kept.length - MOST_KEPT / 2));
  }

  /** `timeMs` null: of the last frame. */
  find(timeMs: number | null): FrameTelemetry | null {
    if (timeMs === null) return this.#kept.at(-1)?.telemetry ?? null;
    const distance = (entry: { readonly timeMs: number }): number => Math.abs(entry.timeMs - timeMs);
    const near = this.#kept.filter((entry) => distance(entry) <= NEAR_MS).sort((a, b) => distance(a) - distance(b));
    return near[0]?.telemetry ?? null;
  }

  /** Why a time has none. */
  explain(timeMs: number | null): string {
    const [first, last] = [this.#kept[0], this.#kept.at(-1)];
    if (timeMs === null || first === undefined || last === undefined)
      return "no frame has had a position and an attitude of the camera yet; check the telemetry of the process";
    const [from, to] = [first, last].map((entry) => new Date(entry.timeMs).toISOString());
    return `the camera's position at ${new Date(timeMs).toISOString()} is not known; choose a frame between ${from} and ${to}`;
  }
}

function explain(telemetry: FrameTelemetry | undefined, sight: Sight | null): string | null {
  if (telemetry === undefined)
    return "no telemetry for the time of the frame; if telemetry arrives, the clocks differ: set telemetry_offset_ms";
  if (sight === null) return "the telemetry has fields of view that are not between 0 and 180 degrees";
  return sight.reason;
}

interface ModeState {
  readonly mode: Places["mode"];
  /** Why it is not `full`. */
  readonly reason: string | null;
  /** Null without telemetry. */
  readonly offsetMs: number | null;
}

const MIN_INTERVAL_NS = 1_000_000_000n;

/** Emits changes of the mode, at most once per second of video; nothing before the first telemetry. */
class ModeReporter {
  readonly #emit: (event: ElementEvent) => void;
  #sent: ModeState = { mode: "none", reason: null, offsetMs: null };
  #sentNs: bigint | null = null;

  constructor(emit: (event: ElementEvent) => void) {
    this.#emit = emit;
  }

  update(captureNs: bigint, mode: Places["mode"], reason: string | null, offsetMs: number | null): void {
    const roundedMs = offsetMs === null ? null : Math.round(offsetMs) + 0;
    const { mode: wasMode, reason: wasReason, offsetMs: wasOffsetMs } = this.#sent;
    if (mode === wasMode && roundedMs === wasOffsetMs && (reason === wasReason || this.#sentNs === null)) return;
    const sinceNs = this.#sentNs === null ? MIN_INTERVAL_NS : captureNs - this.#sentNs;
    // An earlier time: the video restarted.
    if (sinceNs >= 0n && sinceNs < MIN_INTERVAL_NS) return;
    this.#sentNs = captureNs;
    this.#sent = { mode, reason, offsetMs: roundedMs };
    this.#emit({ type: "geolocation", ...this.#sent });
  }
}

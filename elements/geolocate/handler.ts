import type { Detection, Detections, Track, Tracks } from "../../schemas/detections.ts";
import type { Place, Places } from "../../schemas/places.ts";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import type { ElementEvent, Frame, Handler, Services } from "../element.ts";
import type { Terrain } from "./ground.ts";
import { errorM, type GeolocateProperties, type LocatedSpot, locate, openSight, type Sight } from "./locate.ts";
import { type Motion, Motions, UNKNOWN_MOTION } from "./motion.ts";
import { findKind, type Kind } from "./sizes.ts";

/** Reads `tracks` or `detections`, and `telemetry`; writes `places` if there is usable telemetry. */
export class GeolocateHandler implements Pick<Handler, "process" | "flush"> {
  readonly #motions = new Motions();
  readonly #reporter: ModeReporter;
  /** Cache, bounded by the number of labels of the model. */
  readonly #kinds = new Map<string, Kind>();
  readonly #terrain: Terrain | null;
  #properties: GeolocateProperties;

  /** Without a terrain, the ground is level. */
  constructor(properties: GeolocateProperties, services: Pick<Services, "emit">, terrain: Terrain | null = null) {
    this.#properties = properties;
    this.#terrain = terrain;
    this.#reporter = new ModeReporter((event) => services.emit(event));
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
    this.#reporter.update(frame.captureNs, mode, explain(telemetry, sight), telemetry?.offsetMs ?? null);
    const found = tracks ?? detections;
    if (telemetry === undefined || sight === null || found === undefined) return;
    const timeS = Number(frame.captureNs) / 1e9;
    const objects = found.objects.map((object) => this.#place(object, sight, timeS));
    const places: Places = { mode, objects, ageMs: telemetry.ageMs };
    frame.write({ places });
  }

  update(properties: GeolocateProperties): void {
    this.#properties = properties;
  }

  flush(): void {
    this.#motions.clear();
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
      spot: spot && this.#describe(object, timeS, spot),
    };
  }

  #describe(object: Detection | Track, timeS: number, spot: LocatedSpot): NonNullable<Place["spot"]> {
    const { latitude, longitude, heightM, covariance } = spot;
    const { speedMps, heading } = this.#follow(object, timeS, spot);
    const altitude = heightM - this.#properties.geoidSeparationM;
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

/**
 * The OSD message of a drone vendor's flight platform: `{timestamp, data}` in JSON. Messages are partial: a value that is
 * missing keeps its last reported value for a while; zoom and region keep it until they are reported again.
 */
import { Type } from "typebox";
import type { TelemetryMessage } from "../schemas/api/telemetry.ts";
import {
  expectBy,
  type FormatParameters,
  type Reading,
  readJson,
  separationAt,
  TelemetryFault,
  type WholeFormat,
} from "./format.ts";
import { normaliseDegrees, toMilliseconds, toSample } from "./native.ts";

type Range = readonly [least: number, most: number];
const ANGLE: Range = [-360, 360];
const HEIGHT: Range = [-12_000, 100_000];

/** Fields of `data`. */
const AIRCRAFT = {
  latitude: [-90, 90], // degrees; 0, 0 means that there is no fix
  longitude: [-180, 180],
  height: HEIGHT, // above the ellipsoid; minus the geoid separation: altitude
  elevation: HEIGHT, // above the take-off point: rel_altitude
  attitude_head: ANGLE, // drone_yaw, from true north
  attitude_pitch: ANGLE, // drone_pitch
  attitude_roll: ANGLE, // drone_roll
  horizontal_speed: [-10_000, 10_000], // speed
} as const satisfies Record<string, Range>;

/** Fields of the object in `data` whose key is the payload: `type-subtype-gimbal`. */
const PAYLOAD = {
  gimbal_yaw: ANGLE, // camera_yaw, relative to true north or to the nose (gimbal_yaw_frame)
  gimbal_pitch: ANGLE, // camera_pitch
  gimbal_roll: ANGLE, // camera_roll
  zoom_factor: [0, 10_000], // narrows the field of view; ignored below 1
} as const satisfies Record<string, Range>;

/** From `liveview_world_region` in the entry of `data.cameras` for that payload: shares of the wide view. */
const REGION = ["region_width", "region_height"] as const;
type Field = keyof typeof AIRCRAFT | keyof typeof PAYLOAD | (typeof REGION)[number];

/** The pilot's FPV camera, which never delivers the video. */
const FIRST_PERSON = "39-0-7";
const PAYLOAD_KEY = /^\d{1,5}-\d{1,5}-\d{1,5}$/;
/** More than any drone carries; limits the work per message. */
const MOST_PAYLOADS = 32;

const numbers = (ranges: Record<string, Range>) =>
  Object.fromEntries(
    Object.entries(ranges).map(([name, [minimum, maximum]]) => [
      name,
      Type.Optional(Type.Unsafe<number | null>({ type: ["number", "null"], minimum, maximum })),
    ]),
  );

const Envelope = Type.Object({
  timestamp: Type.Number({ minimum: 0, maximum: 1e14 }),
  data: Type.Object(numbers(AIRCRAFT), {
    patternProperties: {
      [`^(?!${FIRST_PERSON}$)\\d{1,5}-\\d{1,5}-\\d{1,5}$`]: Type.Unsafe({
        ...Type.Object(numbers(PAYLOAD)),
        type: ["object", "null"],
      }),
    },
  }),
});

const expectEnvelope = expectBy(
  Envelope,
  "Expected an OSD message: a JSON object with a number for timestamp and an object for data.",
);

type JsonObject = Readonly<Record<string, unknown>>;
type Values = ReadonlyMap<Field, number>;
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Runs before validation: explaining a message with thousands of invalid cameras would take long. */
function expectFewPayloads(value: unknown): void {
  const data = isObject(value) ? value.data : null;
  const count = isObject(data) ? Object.keys(data).filter((name) => PAYLOAD_KEY.test(name)).length : 0;
  if (count <= MOST_PAYLOADS) return;
  const message = `has ${count} cameras; expected at most ${MOST_PAYLOADS}`;
  throw new TelemetryFault("Expected an OSD message with the cameras of one drone.", [{ path: "/data", message }]);
}

export const createVendorA = (parameters: FormatParameters): WholeFormat => new VendorA(parameters);

class VendorA implements WholeFormat {
  readonly #settings: Settings;
  readonly #lastValues = new LastValues<Field>(["zoom_factor", ...REGION]);
  /** The camera whose gimbal angles are used. */
  #payload: string | null = null;

  constructor(parameters: FormatParameters) {
    this.#settings = readSettings(parameters);
  }

  read(payload: Uint8Array | string, receivedMs: number | null): Reading {
    const value = readJson(payload);
    expectFewPayloads(value);
    expectEnvelope(value);
    const { timestamp, data } = value as { timestamp: number; data: JsonObject };
    const timeMs = toMilliseconds(timestamp);
    this.#choosePayload(data);
    const reported = collect(data, this.#payload);
    if (this.#outdatesRegion(data, reported, timeMs)) this.#lastValues.forget(REGION, timeMs);
    this.#lastValues.keep(timeMs, reported);
    const known = this.#lastValues.at(timeMs, reported);
    const native = toNative(known, this.#findView(known), this.#settings);
    // The sample has only values from this message, measured at its time; older ones are in earlier samples.
    const hasPosition = reported.has("latitude");
    const hasAttitude = ["gimbal_yaw", "gimbal_pitch", "gimbal_roll"].some((name) => reported.has(name as Field));
    const whole = toSample(native, timeMs, receivedMs);
    const measured = readMeasured(data, this.#payload);
    return {
      sample: {
        ...whole,
        position: hasPosition ? whole.position : null,
        attitude: hasAttitude ? whole.attitude : null,
      },
      native: { timestamp: timeMs / 1000, ...native },
      lack: this.#describeLack(known, native),
      ...(measured !== null && { measured }),
    };
  }

  /** Keeps the current camera while it is reported; otherwise prefers one with a known field of view. */
  #choosePayload(data: JsonObject): void {
    const names = Object.keys(data).filter((name) => PAYLOAD_KEY.test(name) && name !== FIRST_PERSON);
    const present = names.filter((name) => isObject(data[name]));
    if (present.length === 0 || (this.#payload !== null && present.includes(this.#payload))) return;
    const next = present.find((name) => findWideView(name) !== null) ?? (present[0] as string);
    // A message with an unknown camera and without the known one is partial, not a change of cameras.
    if (this.#payload !== null && findWideView(this.#payload) !== null && findWideView(next) === null) return;
    this.#payload = next;
    this.#lastValues.forget([...(Object.keys(PAYLOAD) as Field[]), ...REGION]);
  }

  /** An invalid region, or another zoom without a region, invalidates the last reported region. */
  #outdatesRegion(data: JsonObject, reported: Values, timeMs: number): boolean {
    if (this.#payload === null || reported.has("region_width")) return false;
    if (pickRegion(data.cameras, this.#payload) !== null) return true;
    const [zoom, before] = [reported.get("zoom_factor"), this.#lastValues.at(timeMs, new Map()).get("zoom_factor")];
    return zoom !== undefined && before !== undefined && zoom !== before;
  }

  #findView(known: Values): FieldsOfView | null {
    const wide = this.#settings.view ?? (this.#payload === null ? null : findWideView(this.#payload));
    if (wide === null) return null;
    const [width, height, zoom] = [known.get("region_width"), known.get("region_height"), known.get("zoom_factor")];
    if (width !== undefined && height !== undefined) return narrowView(wide, width, height);
    const share = 1 / Math.max(1, zoom ?? 1);
    return narrowView(wide, share, share);
  }

  #describeLack(known: Values, native: Partial<TelemetryMessage>): string | null {
    const lacks: string[] = [];
    if (native.sensor_hfov === undefined) {
      const camera = this.#payload === null ? "No message contains a camera" : `The camera ${this.#payload} is unknown`;
      lacks.push(
        `${camera}: set its fields of view as sensor_hfov and sensor_vfov in the parameters of the telemetry.`,
      );
    }
    if (native.latitude === undefined) lacks.push("The drone reports no position: it may have no fix yet.");
    else if (native.altitude === undefined || native.rel_altitude === undefined)
      lacks.push("The drone does not report its height (height and elevation).");
    if (!known.has("gimbal_yaw") || native.camera_pitch === undefined || native.camera_roll === undefined)
      lacks.push("The drone does not report the attitude of its gimbal.");
    else if (native.camera_yaw === undefined)
      lacks.push(
        "The drone does not report its heading (attitude_head), to which the gimbal's yaw is relative; if the yaw is relative to north, set gimbal_yaw_frame to north.",
      );
    return lacks.length === 0 ? null : lacks.join(" ");
  }
}

interface Settings {
  readonly view: FieldsOfView | null;
  /** Null: by EGM96. */
  readonly geoidSeparationM: number | "auto";
  readonly yawFrame: "north" | "body";
}

function readSettings(given: FormatParameters): Settings {
  const { sensor_hfov: hfov, sensor_vfov: vfov, geoid_separation_m: separation } = given;
  return {
    view: typeof hfov === "number" && typeof vfov === "number" ? { hfov, vfov } : null,
    geoidSeparationM: typeof separation === "number" || separation === "auto" ? separation : 0,
    yawFrame: given.gimbal_yaw_frame === "body" ? "body" : "north",
  };
}

/** The numbers in this message. */
function collect(data: JsonObject, payload: string | null): Values {
  const values = new Map<Field, number>();
  const read = (from: unknown, names: readonly string[]): void => {
    if (!isObject(from)) return;
    for (const name of names) {
      const value = from[name];
      if (typeof value === "number") values.set(name as Field, value);
    }
  };
  read(data, Object.keys(AIRCRAFT));
  const [latitude, longitude] = [values.get("latitude"), values.get("longitude")];
  if (latitude === undefined || longitude === undefined || (latitude === 0 && longitude === 0)) {
    values.delete("latitude");
    values.delete("longitude");
  }
  if (payload === null) return values;
  read(data[payload], Object.keys(PAYLOAD));
  const region = findRegion(data.cameras, payload);
  if (region !== null) {
    values.set("region_width", region.width);
    values.set("region_height", region.height);
  }
  return values;
}

/** Null if it is missing or invalid: some cameras report 0 for all edges. */
function findRegion(cameras: unknown, payload: string): { width: number; height: number } | null {
  const region = pickRegion(cameras, payload);
  if (region === null) return null;
  const [left, top, right, bottom] = [region.left, region.top, region.right, region.bottom].map(Number);
  const [width, height] = [Number(right) - Number(left), Number(bottom) - Number(top)];
  return width > 0 && width <= 1 && height > 0 && height <= 1 ? { width, height } : null;
}

function pickRegion(cameras: unknown, payload: string): JsonObject | null {
  if (!Array.isArray(cameras)) return null;
  const camera: unknown = cameras.find((one) => isObject(one) && one.payload_index === payload);
  const region = isObject(camera) ? camera.liveview_world_region : undefined;
  return isObject(region) ? region : null;
}

function toNative(known: Values, view: FieldsOfView | null, settings: Settings): Partial<TelemetryMessage> {
  const [height, latitude, longitude] = [known.get("height"), known.get("latitude"), known.get("longitude")];
  const separation = separationAt(settings.geoidSeparationM, latitude, longitude);
  const [head, gimbalYaw] = [known.get("attitude_head"), known.get("gimbal_yaw")];
  const nose = settings.yawFrame === "body" ? head : 0;
  const yaw = gimbalYaw === undefined || nose === undefined ? undefined : normaliseDegrees(gimbalYaw + nose);
  const fields = {
    ...{ latitude, longitude },
    altitude: height === undefined || separation === undefined ? undefined : height - separation,
    rel_altitude: known.get("elevation"),
    speed: known.get("horizontal_speed"),
    sensor_hfov: view?.hfov,
    sensor_vfov: view?.vfov,
    camera_yaw: yaw,
    camera_pitch: known.get("gimbal_pitch"),
    camera_roll: known.get("gimbal_roll"),
    drone_yaw: head,
    drone_pitch: known.get("attitude_pitch"),
    drone_roll: known.get("attitude_roll"),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The target of the laser range finder. */
function readMeasured(data: JsonObject, payload: string | null): NonNullable<Reading["measured"]> | null {
  const from = payload === null ? undefined : data[payload];
  if (!isObject(from) || from.measure_target_error_state !== 0) return null;
  const [latitude, longitude, altitude, distance] = ["latitude", "longitude", "altitude", "distance"].map(
    (name) => from[`measure_target_${name}`],
  );
  if (typeof latitude !== "number" || typeof longitude !== "number") return null;
  if (typeof altitude !== "number" || typeof distance !== "number") return null;
  return { latitude, longitude, altitude, distance };
}

/** Older values expire. */
const LONGEST_MS = 10_000;

/** The last reported values of partial messages, each with its own time. */
class LastValues<Name extends string> {
  readonly #kept = new Map<Name, { readonly value: number; readonly timeMs: number }>();
  readonly #lasting: ReadonlySet<Name>;
  #newestMs = Number.NEGATIVE_INFINITY;

  /** `lasting`: settings of the operator, which stay valid until they are reported again. */
  constructor(lasting: readonly Name[]) {
    this.#lasting = new Set(lasting);
  }

  /** Messages may arrive out of order: newer values stay. A clock that jumps far back was set: all values are dropped. */
  keep(timeMs: number, reported: ReadonlyMap<Name, number>): void {
    // A jump forward may also be a gap: other values have expired then, and lasting ones are still valid.
    if (this.#newestMs - timeMs > LONGEST_MS) {
      this.#kept.clear();
      this.#newestMs = timeMs;
    }
    this.#newestMs = Math.max(this.#newestMs, timeMs);
    for (const [name, value] of reported)
      if (timeMs >= (this.#kept.get(name)?.timeMs ?? timeMs)) this.#kept.set(name, { value, timeMs });
  }

  /** The values valid at that time: those reported then, and earlier ones that have not expired. */
  at(timeMs: number, reported: ReadonlyMap<Name, number>): ReadonlyMap<Name, number> {
    const known = new Map<Name, number>();
    for (const [name, kept] of this.#kept) {
      const ageMs = timeMs - kept.timeMs;
      if (ageMs >= 0 && (ageMs <= LONGEST_MS || this.#lasting.has(name))) known.set(name, kept.value);
    }
    for (const [name, value] of reported) known.set(name, value);
    return known;
  }

  /** Keeps values that were reported after `untilMs`. */
  forget(names: readonly Name[], untilMs = Number.POSITIVE_INFINITY): void {
    for (const name of names) if ((this.#kept.get(name)?.timeMs ?? 0) <= untilMs) this.#kept.delete(name);
  }
}

interface FieldsOfView {
  readonly hfov: number;
  readonly vfov: number;
}

/** Diagonal field of view of the wide camera in degrees, as specified by the vendor for the whole 4:3 sensor. */
const DIAGONALS: Readonly<Record<string, number>> = {
  "52-0-0": 84, // M30
  "53-0-0": 84, // M30T
  "66-0-0": 84, // M3E
  "67-0-0": 84, // M3T
  "80-0-0": 84, // M3D
  "81-0-0": 82, // M3TD
};

const toRadians = (degrees: number): number => (degrees * Math.PI) / 180;
const toDegrees = (radians: number): number => (radians * 180) / Math.PI;

/** For the wide camera's 16:9 video: the full width of the sensor, cropped at top and bottom. Null: unknown camera. */
export function findWideView(payload: string): FieldsOfView | null {
  const diagonal = Object.hasOwn(DIAGONALS, payload) ? DIAGONALS[payload] : undefined;
  if (diagonal === undefined) return null;
  const across = Math.tan(toRadians(diagonal / 2)) * (4 / 5);
  return { hfov: 2 * toDegrees(Math.atan(across)), vfov: 2 * toDegrees(Math.atan((across * 9) / 16)) };
}

/** For a part of the image: `right` and `down` are its shares of width and height. */
export function narrowView({ hfov, vfov }: FieldsOfView, right: number, down: number): FieldsOfView {
  const narrow = (angle: number, share: number): number =>
    2 * toDegrees(Math.atan(Math.tan(toRadians(angle / 2)) * share));
  return { hfov: narrow(hfov, right), vfov: narrow(vfov, down) };
}

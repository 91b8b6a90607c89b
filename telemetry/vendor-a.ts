/**
 * The OSD message of a drone vendor's flight platform: `{timestamp, data}` in JSON. A message tells a part; what it does not
 * tell holds as it was told last, for a while; zoom and region until they are told anew.
 */
import { Type } from "typebox";
import type { TelemetryMessage } from "../schemas/api/telemetry.ts";
import { normaliseDegrees } from "./degrees.ts";
import { type FieldsOfView, findWideView, narrowView } from "./fields-of-view.ts";
import { type FormatParameters, type Reading, TelemetryFault, type TelemetryFormat } from "./format.ts";
import { Memory } from "./memory.ts";
import { toMilliseconds, toSample } from "./native.ts";
import { expectBy, readJson } from "./read-json.ts";

type Range = readonly [least: number, most: number];
const ANGLE: Range = [-360, 360];
const HEIGHT: Range = [-12_000, 100_000];

/** In `data`. */
const AIRCRAFT = {
  latitude: [-90, 90], // degrees; 0, 0 is no fix
  longitude: [-180, 180],
  height: HEIGHT, // above the ellipsoid; less the geoid separation: altitude
  elevation: HEIGHT, // above the take-off point: rel_altitude
  attitude_head: ANGLE, // drone_yaw, from true north
  attitude_pitch: ANGLE, // drone_pitch
  attitude_roll: ANGLE, // drone_roll
  horizontal_speed: [-10_000, 10_000], // speed
} as const satisfies Record<string, Range>;

/** In the object of `data` that is named by the payload: `type-subtype-gimbal`. */
const PAYLOAD = {
  gimbal_yaw: ANGLE, // camera_yaw, from true north or from the nose, as gimbal_yaw_frame says
  gimbal_pitch: ANGLE, // camera_pitch
  gimbal_roll: ANGLE, // camera_roll
  zoom_factor: [0, 10_000], // narrows the field of view; below 1 it means nothing
} as const satisfies Record<string, Range>;

/** In the entry of `data.cameras` of that payload: shares of the wide view, of `liveview_world_region`. */
const REGION = ["region_width", "region_height"] as const;
type Field = keyof typeof AIRCRAFT | keyof typeof PAYLOAD | (typeof REGION)[number];

/** What the pilot looks through, never what the video is of. */
const FIRST_PERSON = "39-0-7";
const PAYLOAD_KEY = /^\d{1,5}-\d{1,5}-\d{1,5}$/;
/** No drone carries as many; each is looked at. */
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

type Part = Readonly<Record<string, unknown>>;
type Told = ReadonlyMap<Field, number>;
const isPart = (value: unknown): value is Part => typeof value === "object" && value !== null && !Array.isArray(value);

/** Before it is held against the form: a message of nothing but faulty cameras would take long to explain. */
function expectFewPayloads(value: unknown): void {
  const data = isPart(value) ? value.data : null;
  const count = isPart(data) ? Object.keys(data).filter((name) => PAYLOAD_KEY.test(name)).length : 0;
  if (count <= MOST_PAYLOADS) return;
  const message = `has ${count} cameras; expected at most ${MOST_PAYLOADS}`;
  throw new TelemetryFault("Expected an OSD message, which tells of the cameras of one drone.", [
    { path: "/data", message },
  ]);
}

export const createVendorA = (parameters: FormatParameters): TelemetryFormat => new VendorA(parameters);

class VendorA implements TelemetryFormat {
  readonly #settings: Settings;
  readonly #memory = new Memory<Field>(["zoom_factor", ...REGION]);
  /** The camera that the gimbal's angles are of. */
  #payload: string | null = null;

  constructor(parameters: FormatParameters) {
    this.#settings = readSettings(parameters);
  }

  read(payload: Uint8Array | string, receivedMs: number | null): Reading {
    const value = readJson(payload);
    expectFewPayloads(value);
    expectEnvelope(value);
    const { timestamp, data } = value as { timestamp: number; data: Part };
    const timeMs = toMilliseconds(timestamp);
    this.#choosePayload(data);
    const told = collect(data, this.#payload);
    if (this.#outdatesRegion(data, told, timeMs)) this.#memory.forget(REGION, timeMs);
    this.#memory.keep(timeMs, told);
    const known = this.#memory.recall(timeMs, told);
    const native = toNative(known, this.#findView(known), this.#settings);
    // Only what the message itself tells is of its time; what is remembered stands in samples before this one.
    const isPlaced = told.has("latitude");
    const isTurned = ["gimbal_yaw", "gimbal_pitch", "gimbal_roll"].some((name) => told.has(name as Field));
    const whole = toSample(native, timeMs, receivedMs);
    const measured = readMeasured(data, this.#payload);
    return {
      sample: {
        ...whole,
        position: isPlaced ? whole.position : null,
        attitude: isTurned ? whole.attitude : null,
      },
      native: { timestamp: timeMs / 1000, ...native },
      lack: this.#describeLack(known, native),
      ...(measured !== null && { measured }),
    };
  }

  /** The one at hand while it is there; else one whose field of view is known, else any. */
  #choosePayload(data: Part): void {
    const names = Object.keys(data).filter((name) => PAYLOAD_KEY.test(name) && name !== FIRST_PERSON);
    const present = names.filter((name) => isPart(data[name]));
    if (present.length === 0 || (this.#payload !== null && present.includes(this.#payload))) return;
    const next = present.find((name) => findWideView(name) !== null) ?? (present[0] as string);
    // A message that leaves the known camera out and tells of an unknown one is partial, not a change of cameras.
    if (this.#payload !== null && findWideView(this.#payload) !== null && findWideView(next) === null) return;
    this.#payload = next;
    this.#memory.forget([...(Object.keys(PAYLOAD) as Field[]), ...REGION]);
  }

  /** A region that is none, or another zoom without a region: the one that was told before does not hold any more. */
  #outdatesRegion(data: Part, told: Told, timeMs: number): boolean {
    if (this.#payload === null || told.has("region_width")) return false;
    if (pickRegion(data.cameras, this.#payload) !== null) return true;
    const [zoom, before] = [told.get("zoom_factor"), this.#memory.recall(timeMs, new Map()).get("zoom_factor")];
    return zoom !== undefined && before !== undefined && zoom !== before;
  }

  #findView(known: Told): FieldsOfView | null {
    const wide = this.#settings.view ?? (this.#payload === null ? null : findWideView(this.#payload));
    if (wide === null) return null;
    const [width, height, zoom] = [known.get("region_width"), known.get("region_height"), known.get("zoom_factor")];
    if (width !== undefined && height !== undefined) return narrowView(wide, width, height);
    const share = 1 / Math.max(1, zoom ?? 1);
    return narrowView(wide, share, share);
  }

  #describeLack(known: Told, native: Partial<TelemetryMessage>): string | null {
    const lacks: string[] = [];
    if (native.sensor_hfov === undefined) {
      const camera =
        this.#payload === null ? "No message tells of a camera" : `The camera ${this.#payload} is not known`;
      lacks.push(
        `${camera}: give its fields of view as sensor_hfov and sensor_vfov in the parameters of the telemetry.`,
      );
    }
    if (native.latitude === undefined) lacks.push("The drone tells no position: it may have no fix yet.");
    else if (native.altitude === undefined || native.rel_altitude === undefined)
      lacks.push("The drone does not tell its height (height and elevation).");
    if (!known.has("gimbal_yaw") || native.camera_pitch === undefined || native.camera_roll === undefined)
      lacks.push("The drone does not tell how its gimbal is turned.");
    else if (native.camera_yaw === undefined)
      lacks.push(
        "The drone does not tell its heading (attitude_head), which the gimbal's yaw counts from; if it counts from north, set gimbal_yaw_frame to north.",
      );
    return lacks.length === 0 ? null : lacks.join(" ");
  }
}

interface Settings {
  readonly view: FieldsOfView | null;
  readonly geoidSeparationM: number;
  readonly yawFrame: "north" | "body";
}

function readSettings(given: FormatParameters): Settings {
  const { sensor_hfov: hfov, sensor_vfov: vfov, geoid_separation_m: separation } = given;
  return {
    view: typeof hfov === "number" && typeof vfov === "number" ? { hfov, vfov } : null,
    geoidSeparationM: typeof separation === "number" ? separation : 0,
    yawFrame: given.gimbal_yaw_frame === "body" ? "body" : "north",
  };
}

/** The numbers that this very message tells. */
function collect(data: Part, payload: string | null): Told {
  const told = new Map<Field, number>();
  const take = (from: unknown, names: readonly string[]): void => {
    if (!isPart(from)) return;
    for (const name of names) {
      const value = from[name];
      if (typeof value === "number") told.set(name as Field, value);
    }
  };
  take(data, Object.keys(AIRCRAFT));
  const isFix =
    told.has("latitude") && told.has("longitude") && (told.get("latitude") !== 0 || told.get("longitude") !== 0);
  if (!isFix) {
    told.delete("latitude");
    told.delete("longitude");
  }
  if (payload === null) return told;
  take(data[payload], Object.keys(PAYLOAD));
  const region = findRegion(data.cameras, payload);
  if (region !== null) {
    told.set("region_width", region.width);
    told.set("region_height", region.height);
  }
  return told;
}

/** Null where there is none, or it is none: some cameras say 0 everywhere. */
function findRegion(cameras: unknown, payload: string): { width: number; height: number } | null {
  const region = pickRegion(cameras, payload);
  if (region === null) return null;
  const [left, top, right, bottom] = [region.left, region.top, region.right, region.bottom].map(Number);
  const [width, height] = [Number(right) - Number(left), Number(bottom) - Number(top)];
  return width > 0 && width <= 1 && height > 0 && height <= 1 ? { width, height } : null;
}

function pickRegion(cameras: unknown, payload: string): Part | null {
  if (!Array.isArray(cameras)) return null;
  const camera: unknown = cameras.find((one) => isPart(one) && one.payload_index === payload);
  const region = isPart(camera) ? camera.liveview_world_region : undefined;
  return isPart(region) ? region : null;
}

function toNative(known: Told, view: FieldsOfView | null, settings: Settings): Partial<TelemetryMessage> {
  const height = known.get("height");
  const [head, gimbalYaw] = [known.get("attitude_head"), known.get("gimbal_yaw")];
  const nose = settings.yawFrame === "body" ? head : 0;
  const yaw = gimbalYaw === undefined || nose === undefined ? undefined : normaliseDegrees(gimbalYaw + nose);
  const fields = {
    latitude: known.get("latitude"),
    longitude: known.get("longitude"),
    altitude: height === undefined ? undefined : height - settings.geoidSeparationM,
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

/** What the laser range finder points at. */
function readMeasured(data: Part, payload: string | null): NonNullable<Reading["measured"]> | null {
  const from = payload === null ? undefined : data[payload];
  if (!isPart(from) || from.measure_target_error_state !== 0) return null;
  const [latitude, longitude, altitude, distance] = ["latitude", "longitude", "altitude", "distance"].map(
    (name) => from[`measure_target_${name}`],
  );
  if (typeof latitude !== "number" || typeof longitude !== "number") return null;
  if (typeof altitude !== "number" || typeof distance !== "number") return null;
  return { latitude, longitude, altitude, distance };
}

/**
 * UAS Datalink local set of MISB ST 0601: position and attitude of a camera as KLV, in MPEG-TS and RTP, or one packet per
 * message. Values are degrees, metres and seconds. The security set (ST 0102) and VMTI (ST 0903) are passed over.
 */
import type { CameraAttitude } from "../schemas/telemetry.ts";
import { type FormatParameters, type Reading, separationAt, TelemetryFault, type WholeFormat } from "./format.ts";
import {
  type Codec,
  imapb,
  integer,
  microseconds,
  readItems,
  readLength,
  signed,
  text,
  unsigned,
  writeItem,
  writeLength,
} from "./klv.ts";
import { normaliseDegrees, toSample } from "./native.ts";

/** Universal label of the local set. */
export const UAS_KEY = Buffer.from("060e2b34020b01010e01030101000000", "hex");

/** Null: the sender reports that the value is unknown from now on (a length of zero), or out of range. */
export interface UasValues {
  /** Microseconds since 1970; see `toUnixMs`. */
  readonly timeStamp?: bigint | null;
  readonly missionId?: string | null;
  readonly platformTailNumber?: string | null;
  readonly platformHeading?: number | null;
  readonly platformPitch?: number | null;
  readonly platformRoll?: number | null;
  readonly platformDesignation?: string | null;
  readonly imageSourceSensor?: string | null;
  readonly imageCoordinateSystem?: string | null;
  readonly sensorLatitude?: number | null;
  readonly sensorLongitude?: number | null;
  /** Above mean sea level. */
  readonly sensorAltitude?: number | null;
  readonly sensorHfov?: number | null;
  readonly sensorVfov?: number | null;
  /** Of the sensor relative to the platform. */
  readonly sensorAzimuth?: number | null;
  readonly sensorElevation?: number | null;
  readonly sensorRoll?: number | null;
  readonly slantRange?: number | null;
  readonly targetWidth?: number | null;
  readonly frameLatitude?: number | null;
  readonly frameLongitude?: number | null;
  /** Of the ground at the centre of the frame, above mean sea level. */
  readonly frameElevation?: number | null;
  readonly cornerLatitudeOffset1?: number | null;
  readonly cornerLongitudeOffset1?: number | null;
  readonly cornerLatitudeOffset2?: number | null;
  readonly cornerLongitudeOffset2?: number | null;
  readonly cornerLatitudeOffset3?: number | null;
  readonly cornerLongitudeOffset3?: number | null;
  readonly cornerLatitudeOffset4?: number | null;
  readonly cornerLongitudeOffset4?: number | null;
  readonly targetLatitude?: number | null;
  readonly targetLongitude?: number | null;
  readonly targetElevation?: number | null;
  readonly verticalSpeed?: number | null;
  readonly groundSpeed?: number | null;
  readonly groundRange?: number | null;
  readonly version?: number | null;
  /** Above the ellipsoid. */
  readonly sensorHeight?: number | null;
  readonly frameHeight?: number | null;
  readonly cornerLatitude1?: number | null;
  readonly cornerLongitude1?: number | null;
  readonly cornerLatitude2?: number | null;
  readonly cornerLongitude2?: number | null;
  readonly cornerLatitude3?: number | null;
  readonly cornerLongitude3?: number | null;
  readonly cornerLatitude4?: number | null;
  readonly cornerLongitude4?: number | null;
  /** The range of items 6 and 7 is too small for a drone: these two are preferred. */
  readonly platformPitchFull?: number | null;
  readonly platformRollFull?: number | null;
  readonly sensorHeightExtended?: number | null;
  /** To be added to the time stamp to get UTC. */
  readonly leapSeconds?: number | null;
}

const latitude = signed(4, 90);
const longitude = signed(4, 180);
const altitude = unsigned(2, -900, 19_000);
const cornerOffset = signed(2, 0.075);

const leapSeconds: Codec<number> = {
  read: (bytes) => (bytes.length > 0 && bytes.length <= 4 ? bytes.readIntBE(0, bytes.length) : null),
  write(value) {
    const bytes = Buffer.alloc(1);
    bytes.writeInt8(value);
    return bytes;
  },
};

const CHECKSUM = 1;
const TIME = 2;
/** Nested sets: ST 0102 and ST 0903. */
const SECURITY = 48;
const VMTI = 74;

// biome-ignore lint/suspicious/noExplicitAny: one table for values of several types.
const ITEMS: readonly (readonly [tag: number, name: keyof UasValues, codec: Codec<any>])[] = [
  [TIME, "timeStamp", microseconds],
  [3, "missionId", text],
  [4, "platformTailNumber", text],
  [5, "platformHeading", unsigned(2, 0, 360)],
  [6, "platformPitch", signed(2, 20)],
  [7, "platformRoll", signed(2, 50)],
  [10, "platformDesignation", text],
  [11, "imageSourceSensor", text],
  [12, "imageCoordinateSystem", text],
  [13, "sensorLatitude", latitude],
  [14, "sensorLongitude", longitude],
  [15, "sensorAltitude", altitude],
  [16, "sensorHfov", unsigned(2, 0, 180)],
  [17, "sensorVfov", unsigned(2, 0, 180)],
  [18, "sensorAzimuth", unsigned(4, 0, 360)],
  [19, "sensorElevation", signed(4, 180)],
  [20, "sensorRoll", unsigned(4, 0, 360)],
  [21, "slantRange", unsigned(4, 0, 5e6)],
  [22, "targetWidth", unsigned(2, 0, 10_000)],
  [23, "frameLatitude", latitude],
  [24, "frameLongitude", longitude],
  [25, "frameElevation", altitude],
  [26, "cornerLatitudeOffset1", cornerOffset],
  [27, "cornerLongitudeOffset1", cornerOffset],
  [28, "cornerLatitudeOffset2", cornerOffset],
  [29, "cornerLongitudeOffset2", cornerOffset],
  [30, "cornerLatitudeOffset3", cornerOffset],
  [31, "cornerLongitudeOffset3", cornerOffset],
  [32, "cornerLatitudeOffset4", cornerOffset],
  [33, "cornerLongitudeOffset4", cornerOffset],
  [40, "targetLatitude", latitude],
  [41, "targetLongitude", longitude],
  [42, "targetElevation", altitude],
  [51, "verticalSpeed", signed(2, 180)],
  [56, "groundSpeed", integer(1)],
  [57, "groundRange", unsigned(4, 0, 5e6)],
  [65, "version", integer(1)],
  [75, "sensorHeight", altitude],
  [78, "frameHeight", altitude],
  [82, "cornerLatitude1", latitude],
  [83, "cornerLongitude1", longitude],
  [84, "cornerLatitude2", latitude],
  [85, "cornerLongitude2", longitude],
  [86, "cornerLatitude3", latitude],
  [87, "cornerLongitude3", longitude],
  [88, "cornerLatitude4", latitude],
  [89, "cornerLongitude4", longitude],
  [90, "platformPitchFull", signed(4, 90)],
  [91, "platformRollFull", signed(4, 90)],
  [104, "sensorHeightExtended", imapb(-900, 40_000, 3)],
  [136, "leapSeconds", leapSeconds],
];
const BY_TAG = new Map(ITEMS.map(([tag, name, codec]) => [tag, { name, codec }]));

/** 16-bit sum of everything before the value of the checksum. */
export function sumBytes(bytes: Buffer): number {
  let sum = 0;
  for (const [index, byte] of bytes.entries()) sum = (sum + (index % 2 === 0 ? byte << 8 : byte)) & 0xffff;
  return sum;
}

export interface UasPacket {
  readonly values: UasValues;
  /** Items that are not decoded, by tag: also the security set and VMTI. */
  readonly others: ReadonlyMap<number, Buffer>;
  /** Null: it has none. */
  readonly isIntact: boolean | null;
  readonly bytes: number;
}

/** The packet that begins there; null if there is none, or it is cut off. Never throws. */
export function readPacket(bytes: Buffer, at = 0): UasPacket | null {
  if (bytes.length < at + UAS_KEY.length || bytes.compare(UAS_KEY, 0, UAS_KEY.length, at, at + UAS_KEY.length) !== 0)
    return null;
  const length = readLength(bytes, at + UAS_KEY.length);
  if (length === null) return null;
  const from = at + UAS_KEY.length + length.size;
  if (from + length.value > bytes.length) return null;
  const whole = bytes.subarray(at, from + length.value);
  const values: Record<string, unknown> = {};
  const others = new Map<number, Buffer>();
  let isIntact: boolean | null = null;
  for (const { tag, value } of readItems(bytes.subarray(from, from + length.value))) {
    const known = BY_TAG.get(tag);
    if (tag === CHECKSUM) isIntact = value.length === 2 && value.readUInt16BE(0) === sumBytes(whole.subarray(0, -2));
    else if (known === undefined) others.set(tag, value);
    else values[known.name] = value.length === 0 ? null : known.codec.read(value);
  }
  return { values, others, isIntact, bytes: whole.length };
}

/** Nested sets, as their own codecs write them. */
export interface NestedSets {
  readonly security?: Buffer;
  readonly vmti?: Buffer;
}

/** The time stamp comes first and the checksum last, as the standard requires. */
export function writePacket(values: UasValues & { readonly timeStamp: bigint }, nested: NestedSets = {}): Buffer {
  const items: { readonly tag: number; readonly value: Buffer }[] = ITEMS.flatMap(([tag, name, codec]) => {
    const value = values[name];
    if (value === undefined) return [];
    return [{ tag, value: value === null ? Buffer.alloc(0) : codec.write(value) }];
  });
  if (nested.security !== undefined) items.push({ tag: SECURITY, value: nested.security });
  if (nested.vmti !== undefined) items.push({ tag: VMTI, value: nested.vmti });
  items.sort((a, b) => a.tag - b.tag);
  const body = Buffer.concat([...items.map(({ tag, value }) => writeItem(tag, value)), Buffer.from([CHECKSUM, 2])]);
  const packet = Buffer.concat([UAS_KEY, writeLength(body.length + 2), body, Buffer.alloc(2)]);
  packet.writeUInt16BE(sumBytes(packet.subarray(0, -2)), packet.length - 2);
  return packet;
}

/** The VMTI set of a packet, for `readVmti`; null: it has none. */
export const vmtiOf = ({ others }: UasPacket): Buffer | null => others.get(VMTI) ?? null;

/** Every packet in the bytes. Other KLV between packets is passed over. */
export function* findPackets(bytes: Buffer): Generator<UasPacket> {
  for (let at = bytes.indexOf(UAS_KEY); at >= 0; ) {
    const packet = readPacket(bytes, at);
    if (packet !== null) yield packet;
    at = bytes.indexOf(UAS_KEY, at + (packet?.bytes ?? UAS_KEY.length));
  }
}

/** By how much the clock of the standard is ahead of Unix time since 2017; a packet that states another number is believed. */
export const AHEAD_MS = 28_999.918;

/**
 * Unix time of a time stamp. The clock of the standard counts leap seconds, so it is ahead of Unix time; item 136 states by
 * how much, as a number to be added. Many senders use Unix time all the same. Without item 136, the arrival decides, if it is
 * known.
 */
export function toUnixMs({ timeStamp, leapSeconds: stated }: UasValues, receivedMs: number | null): number | null {
  if (timeStamp == null) return null;
  const timeMs = Number(timeStamp / 1000n) + Number(timeStamp % 1000n) / 1000;
  if (stated != null) return timeMs + stated * 1000;
  const aheadMs = receivedMs === null ? 0 : timeMs - receivedMs;
  return aheadMs > AHEAD_MS / 2 && aheadMs < 2 * AHEAD_MS ? timeMs - AHEAD_MS : timeMs;
}

export const createMisb0601 = (parameters: FormatParameters): WholeFormat => new Misb0601(parameters);

/** Packets are partial: rarely changing items are sent only now and then, and an item of length zero forgets its value. */
class Misb0601 implements WholeFormat {
  readonly #geoidSeparationM: number | "auto";
  readonly #kept = new Map<string, unknown>();

  constructor({ geoid_separation_m: separation }: FormatParameters) {
    this.#geoidSeparationM = typeof separation === "number" ? separation : "auto";
  }

  read(payload: Uint8Array | string, receivedMs: number | null): Reading {
    if (typeof payload === "string") throw new TelemetryFault("Expected the bytes of an ST 0601 packet, not a text.");
    const [packet] = findPackets(Buffer.from(payload.buffer, payload.byteOffset, payload.length));
    if (packet === undefined)
      throw new TelemetryFault("Expected a packet of MISB ST 0601, which begins with 06 0E 2B 34 02 0B 01 01.");
    if (packet.isIntact === false) throw new TelemetryFault("The checksum of the ST 0601 packet does not match.");
    return this.take(packet.values, receivedMs);
  }

  take(values: UasValues, receivedMs: number | null): Reading {
    const timeMs = toUnixMs(values, receivedMs) ?? receivedMs;
    if (timeMs === null) throw new TelemetryFault("The ST 0601 packet has no time stamp (item 2).");
    for (const [name, value] of Object.entries(values)) {
      if (value === null) this.#kept.delete(name);
      else this.#kept.set(name, value);
    }
    const known = Object.fromEntries(this.#kept) as { readonly [K in keyof UasValues]: NonNullable<UasValues[K]> };
    const native = toNative(known, this.#geoidSeparationM);
    const isNew = (...names: readonly (keyof UasValues)[]) => names.some((name) => values[name] != null);
    const whole = toSample(native, timeMs, receivedMs);
    return {
      sample: {
        ...whole,
        position: isNew("sensorLatitude", "sensorLongitude") ? whole.position : null,
        attitude: isNew("sensorAzimuth", "sensorElevation", "platformHeading") ? whole.attitude : null,
      },
      native: { timestamp: timeMs / 1000, ...native },
      lack: describeLack(native),
    };
  }
}

type Known = { readonly [K in keyof UasValues]?: NonNullable<UasValues[K]> };

function toNative(known: Known, geoidSeparationM: number | "auto") {
  const height = known.sensorHeightExtended ?? known.sensorHeight;
  const separation = separationAt(geoidSeparationM, known.sensorLatitude, known.sensorLongitude);
  const above = height === undefined || separation === undefined ? undefined : height - separation;
  const altitude = known.sensorAltitude ?? above;
  const attitude = findAttitude(known);
  const isView = (angle: number | undefined): boolean => angle !== undefined && angle > 0 && angle < 180;
  const hasView = isView(known.sensorHfov) && isView(known.sensorVfov);
  const ground = findGround(known, altitude);
  const fields = {
    latitude: known.sensorLatitude,
    longitude: known.sensorLongitude,
    altitude,
    rel_altitude: altitude === undefined || ground === undefined ? undefined : altitude - ground,
    speed: known.groundSpeed,
    sensor_hfov: hasView ? known.sensorHfov : undefined,
    sensor_vfov: hasView ? known.sensorVfov : undefined,
    camera_yaw: attitude?.yaw,
    camera_pitch: attitude?.pitch,
    camera_roll: attitude?.roll,
    drone_yaw: known.platformHeading,
    drone_pitch: known.platformPitchFull ?? known.platformPitch,
    drone_roll: known.platformRollFull ?? known.platformRoll,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The steps of the elevation of the frame centre are 0.3 m: a slant range that agrees with it is more precise. */
const AGREES_M = 1;

/** The ground where the camera looks, by the elevation of the frame centre or by the slant range. */
function findGround(known: Known, altitude: number | undefined): number | undefined {
  const { frameElevation, slantRange } = known;
  const pitch = findAttitude(known)?.pitch;
  if (altitude === undefined || slantRange === undefined || pitch === undefined || pitch >= 0) return frameElevation;
  const ground = altitude + slantRange * Math.sin(pitch * RADIANS);
  return frameElevation === undefined || Math.abs(ground - frameElevation) < AGREES_M ? ground : frameElevation;
}

const RADIANS = Math.PI / 180;
type Matrix = readonly (readonly [number, number, number])[];

/** From the axes forward, right, down of what is turned to those it is turned against: yaw, then pitch, then roll. */
function rotation(yaw: number, pitch: number, roll: number): Matrix {
  const [cy, sy] = [Math.cos(yaw * RADIANS), Math.sin(yaw * RADIANS)];
  const [cp, sp] = [Math.cos(pitch * RADIANS), Math.sin(pitch * RADIANS)];
  const [cr, sr] = [Math.cos(roll * RADIANS), Math.sin(roll * RADIANS)];
  return [
    [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
    [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
    [-sp, cp * sr, cp * cr],
  ];
}

const multiply = (a: Matrix, b: Matrix): Matrix =>
  a.map(([x, y, z]) =>
    [0, 1, 2].map((column) => x * at(b, 0, column) + y * at(b, 1, column) + z * at(b, 2, column)),
  ) as unknown as Matrix;
const at = (matrix: Matrix, row: number, column: number): number => matrix[row]?.[column] ?? 0;

/** The attitude of the camera in the world: that of the platform, turned by azimuth, elevation and roll of the sensor. */
function findAttitude(known: Known): CameraAttitude | null {
  const { platformHeading, sensorAzimuth, sensorElevation, sensorRoll = 0 } = known;
  if (platformHeading === undefined || sensorAzimuth === undefined || sensorElevation === undefined) return null;
  const pitch = known.platformPitchFull ?? known.platformPitch ?? 0;
  const roll = known.platformRollFull ?? known.platformRoll ?? 0;
  const turned = multiply(rotation(platformHeading, pitch, roll), rotation(sensorAzimuth, sensorElevation, sensorRoll));
  const cosine = Math.hypot(at(turned, 0, 0), at(turned, 1, 0));
  const down = Math.atan2(-at(turned, 2, 0), cosine) / RADIANS;
  // Straight up or down, yaw and roll have the same axis: all of it is yaw.
  if (cosine < 1e-9) return { yaw: Math.atan2(-at(turned, 0, 1), at(turned, 1, 1)) / RADIANS, pitch: down, roll: 0 };
  return {
    yaw: normaliseDegrees(Math.atan2(at(turned, 1, 0), at(turned, 0, 0)) / RADIANS),
    pitch: down,
    roll: Math.atan2(at(turned, 2, 1), at(turned, 2, 2)) / RADIANS,
  };
}

/** What the items must contain for geolocation. */
const NEEDED = [
  ["latitude", "the position of the sensor (items 13 and 14)"],
  ["altitude", "the altitude of the sensor (item 15, 75 or 104)"],
  ["rel_altitude", "the elevation of the frame centre or the slant range (items 25 and 21)"],
  ["camera_yaw", "the attitude of the sensor (items 5, 18 and 19)"],
  ["sensor_hfov", "the fields of view (items 16 and 17)"],
] as const;

function describeLack(native: Readonly<Record<string, unknown>>): string | null {
  const missing = NEEDED.filter(([name]) => native[name] === undefined).map(([, what]) => what);
  return missing.length === 0 ? null : `The packets do not contain ${missing.join(", ")}.`;
}

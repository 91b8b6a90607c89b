/**
 * MAVLink, versions 1 and 2: the messages that say where a camera is and where it looks, over UDP and in `.tlog` files. Other
 * messages are passed over. Every used message is checked by its CRC and, if a passphrase is given, by its signature.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { TelemetryMessage } from "../schemas/api/telemetry.ts";
import {
  type FileReading,
  type FormatParameters,
  type Reading,
  TelemetryFault,
  type TelemetryFormat,
} from "./format.ts";
import { normaliseDegrees, toSample } from "./native.ts";

const V1 = 0xfe;
const V2 = 0xfd;
const IS_SIGNED = 1;
const SIGNATURE_BYTES = 13;

const SYSTEM_TIME = 2;
const ATTITUDE = 30;
const GLOBAL_POSITION_INT = 33;
const MOUNT_ORIENTATION = 265;
const CAMERA_FOV_STATUS = 271;
const GIMBAL_DEVICE_ATTITUDE_STATUS = 285;

/** Of each message that is used: the number that its definition adds to the CRC, and its full length. */
const MESSAGES: ReadonlyMap<number, readonly [crcExtra: number, bytes: number]> = new Map([
  [SYSTEM_TIME, [137, 12]],
  [ATTITUDE, [39, 28]],
  [GLOBAL_POSITION_INT, [104, 28]],
  [MOUNT_ORIENTATION, [26, 20]],
  [CAMERA_FOV_STATUS, [22, 53]],
  [GIMBAL_DEVICE_ATTITUDE_STATUS, [137, 49]],
]);

export interface Frame {
  readonly id: number;
  readonly system: number;
  readonly component: number;
  /** With the zeros that version 2 cuts off. */
  readonly payload: Buffer;
  /** The whole frame, with its signature. */
  readonly bytes: Buffer;
  readonly isSigned: boolean;
}

/** CRC-16/MCRF4XX over the frame without its first byte, and then over the extra byte. */
export function sumFrame(bytes: Buffer, extra: number): number {
  let crc = 0xffff;
  const add = (byte: number): void => {
    let next = (byte ^ crc) & 0xff;
    next = (next ^ (next << 4)) & 0xff;
    crc = ((crc >> 8) ^ (next << 8) ^ (next << 3) ^ (next >> 4)) & 0xffff;
  };
  for (const byte of bytes) add(byte);
  add(extra);
  return crc;
}

/** Length of the frame that may begin there; null: none does, or it is cut off. */
function measureFrame(bytes: Buffer, at: number): number | null {
  const magic = bytes[at];
  if (magic !== V1 && magic !== V2) return null;
  const head = magic === V2 ? 10 : 6;
  if (at + head > bytes.length) return null;
  const isSigned = magic === V2 && ((bytes[at + 2] ?? 0) & IS_SIGNED) !== 0;
  const length = head + (bytes[at + 1] ?? 0) + 2 + (isSigned ? SIGNATURE_BYTES : 0);
  return at + length <= bytes.length ? length : null;
}

/** The frame at this place if its message is used and its CRC is right; else null. */
export function readFrame(bytes: Buffer, at: number): Frame | null {
  const length = measureFrame(bytes, at);
  if (length === null) return null;
  const isSecond = bytes[at] === V2;
  const head = isSecond ? 10 : 6;
  const size = bytes[at + 1] ?? 0;
  const id = isSecond ? bytes.readUIntLE(at + 7, 3) : (bytes[at + 5] ?? 0);
  const known = MESSAGES.get(id);
  if (known === undefined) return null;
  const [extra, whole] = known;
  const end = at + head + size;
  if (sumFrame(bytes.subarray(at + 1, end), extra) !== bytes.readUInt16LE(end)) return null;
  const payload = Buffer.alloc(Math.max(whole, size));
  bytes.copy(payload, 0, at + head, end);
  return {
    ...{ id, payload, bytes: bytes.subarray(at, at + length) },
    system: bytes[at + (isSecond ? 5 : 3)] ?? 0,
    component: bytes[at + (isSecond ? 6 : 4)] ?? 0,
    isSigned: length > head + size + 2,
  };
}

/** The frames of a datagram. Frames of other messages are skipped by their length. */
export function* readFrames(bytes: Buffer): Generator<Frame> {
  for (let at = 0; at < bytes.length; ) {
    const frame = readFrame(bytes, at);
    if (frame !== null) yield frame;
    // A frame that fails its CRC may not be one: what follows its first byte is read again.
    at += frame?.bytes.length ?? skipOther(bytes, at);
  }
}

function skipOther(bytes: Buffer, at: number): number {
  const length = measureFrame(bytes, at);
  if (length === null) return 1;
  const next = bytes[at + length];
  return next === undefined || next === V1 || next === V2 ? length : 1;
}

const DEGREES = 180 / Math.PI;

/** The state of one vehicle, from partial messages. */
class Vehicle {
  #heading: number | null = null;
  #view: { readonly sensor_hfov: number; readonly sensor_vfov: number } | null;
  #attitude: { drone_yaw: number; drone_pitch: number; drone_roll: number } | null = null;
  /** Unix time of the vehicle's start; null before it is known. */
  #bootMs: number | null = null;
  #isBootStated = false;
  #hasGimbal = false;
  #position: Partial<TelemetryMessage> = {};
  #camera: Partial<TelemetryMessage> = {};

  constructor(parameters: FormatParameters) {
    const { sensor_hfov: hfov, sensor_vfov: vfov } = parameters;
    this.#view = typeof hfov === "number" && typeof vfov === "number" ? { sensor_hfov: hfov, sensor_vfov: vfov } : null;
  }

  /** Null: the message has no position and no attitude of the camera. `timeMs`: of the record, or of arrival. */
  take({ id, payload }: Frame, timeMs: number, isRecord: boolean): Reading | null {
    if (id === SYSTEM_TIME) this.#readClock(payload);
    else if (id === ATTITUDE) this.#readAttitude(payload);
    else if (id === CAMERA_FOV_STATUS) this.#readView(payload);
    else {
      const part = id === GLOBAL_POSITION_INT ? this.#readPosition(payload) : this.#readGimbal(id, payload);
      if (part === null) return null;
      const atMs = isRecord ? timeMs : this.#clock(payload.readUInt32LE(0), timeMs);
      return this.#describe(part, atMs, isRecord ? null : timeMs);
    }
    return null;
  }

  #clock(bootMs: number, receivedMs: number): number {
    // Without the clock of the vehicle, the fastest message decides: none arrives before it was sent.
    if (!this.#isBootStated) this.#bootMs = Math.min(this.#bootMs ?? Number.POSITIVE_INFINITY, receivedMs - bootMs);
    return (this.#bootMs ?? 0) + bootMs;
  }

  #readClock(payload: Buffer): void {
    const unixMs = Number(payload.readBigUInt64LE(0)) / 1000;
    // Zero, and 1980, before the first fix.
    if (unixMs < YEAR_2000_MS || unixMs > YEAR_2100_MS) return;
    this.#bootMs = unixMs - payload.readUInt32LE(8);
    this.#isBootStated = true;
  }

  #readAttitude(payload: Buffer): void {
    const [roll, pitch, yaw] = [4, 8, 12].map((at) => payload.readFloatLE(at) * DEGREES);
    if (!isAngle(roll) || !isAngle(pitch) || !isAngle(yaw)) return;
    this.#attitude = {
      drone_yaw: normaliseDegrees(yaw),
      drone_pitch: normaliseDegrees(pitch),
      drone_roll: normaliseDegrees(roll),
    };
    this.#heading = yaw;
  }

  #readView(payload: Buffer): void {
    const [hfov, vfov] = [payload.readFloatLE(44), payload.readFloatLE(48)];
    if (hfov > 0 && hfov < 180 && vfov > 0 && vfov < 180) this.#view = { sensor_hfov: hfov, sensor_vfov: vfov };
  }

  #readPosition(payload: Buffer): "position" | null {
    const [latitude, longitude] = [payload.readInt32LE(4) / 1e7, payload.readInt32LE(8) / 1e7];
    if ((latitude === 0 && longitude === 0) || Math.abs(latitude) > 90 || Math.abs(longitude) > 180) return null;
    const heading = payload.readUInt16LE(26);
    if (heading <= 36_000 && this.#attitude === null) this.#heading = heading / 100;
    this.#position = {
      ...{ latitude, longitude },
      altitude: clampHeight(payload.readInt32LE(12) / 1000),
      rel_altitude: clampHeight(payload.readInt32LE(16) / 1000),
      speed: Math.hypot(payload.readInt16LE(20), payload.readInt16LE(22)) / 100,
    };
    return "position";
  }

  #readGimbal(id: number, payload: Buffer): "camera" | null {
    const angles = id === MOUNT_ORIENTATION ? readMount(payload) : readQuaternion(payload);
    // Some autopilots send both: the newer message is more precise.
    if (angles === null || (id === MOUNT_ORIENTATION && this.#hasGimbal)) return null;
    this.#hasGimbal ||= id === GIMBAL_DEVICE_ATTITUDE_STATUS;
    const nose = angles.isFromNorth ? 0 : this.#heading;
    if (nose === null) return null;
    this.#camera = {
      camera_yaw: normaliseDegrees(angles.yaw + nose),
      camera_pitch: normaliseDegrees(angles.pitch),
      camera_roll: normaliseDegrees(angles.roll),
    };
    return "camera";
  }

  #describe(part: "position" | "camera", timeMs: number, receivedMs: number | null): Reading {
    const native = { ...this.#position, ...this.#camera, ...this.#attitude, ...this.#view };
    const whole = toSample(native, timeMs, receivedMs);
    return {
      // The sample has only what was measured at its time; the rest is in earlier samples.
      sample: {
        ...whole,
        position: part === "position" ? whole.position : null,
        attitude: part === "camera" ? whole.attitude : null,
      },
      native: { timestamp: timeMs / 1000, ...native },
      lack: this.#describeLack(),
    };
  }

  #describeLack(): string | null {
    const lacks: string[] = [];
    if (this.#position.latitude === undefined) lacks.push("The vehicle sends no GLOBAL_POSITION_INT with a fix.");
    if (this.#camera.camera_yaw === undefined)
      lacks.push(
        "The vehicle sends no GIMBAL_DEVICE_ATTITUDE_STATUS and no MOUNT_ORIENTATION: the attitude of the camera is unknown.",
      );
    if (this.#view === null)
      lacks.push(
        "The vehicle sends no CAMERA_FOV_STATUS: set sensor_hfov and sensor_vfov in the parameters of the telemetry.",
      );
    return lacks.length === 0 ? null : lacks.join(" ");
  }
}

const isAngle = (value: number | undefined): value is number =>
  value !== undefined && Number.isFinite(value) && Math.abs(value) <= 3600;
const clampHeight = (metres: number): number => Math.min(100_000, Math.max(-12_000, metres));

interface GimbalAngles {
  readonly yaw: number;
  readonly pitch: number;
  readonly roll: number;
  /** Otherwise the yaw is relative to the nose. */
  readonly isFromNorth: boolean;
}

function readMount(payload: Buffer): GimbalAngles | null {
  const [roll, pitch, yaw, absolute] = [4, 8, 12, 16].map((at) => payload.readFloatLE(at));
  if (!isAngle(roll) || !isAngle(pitch) || !isAngle(yaw)) return null;
  const isFromNorth = isAngle(absolute) && absolute !== 0;
  return { roll, pitch, yaw: isFromNorth ? absolute : yaw, isFromNorth };
}

const YAW_LOCKED = 16;
const YAW_FROM_NOSE = 32;
const YAW_FROM_NORTH = 64;

function readQuaternion(payload: Buffer): GimbalAngles | null {
  const [w = 0, x = 0, y = 0, z = 0] = [4, 8, 12, 16].map((at) => payload.readFloatLE(at));
  const length = Math.hypot(w, x, y, z);
  if (!(length > 0.9 && length < 1.1)) return null;
  const flags = payload.readUInt16LE(36);
  const isStated = (flags & (YAW_FROM_NOSE | YAW_FROM_NORTH)) !== 0;
  return {
    roll: Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) * DEGREES,
    pitch: Math.asin(Math.min(1, Math.max(-1, 2 * (w * y - z * x)))) * DEGREES,
    yaw: Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) * DEGREES,
    isFromNorth: isStated ? (flags & YAW_FROM_NORTH) !== 0 : (flags & YAW_LOCKED) !== 0,
  };
}

const YEAR_2000_MS = 946_684_800_000;
const YEAR_2100_MS = 4_102_444_800_000;

/** Signatures of MAVLink 2, by the key that a passphrase gives: its SHA-256, as ground stations derive it. */
export class Signatures {
  readonly #key: Buffer;
  /** The last time stamp of each sender: a recorded frame that is sent again is not accepted. */
  readonly #last = new Map<number, number>();

  constructor(passphrase: string) {
    this.#key = createHash("sha256").update(passphrase).digest();
  }

  /** Of a frame without its last six bytes. */
  sign(signed: Buffer): Buffer {
    return createHash("sha256").update(this.#key).update(signed).digest().subarray(0, 6);
  }

  accepts({ bytes, isSigned, system, component }: Frame): boolean {
    if (!isSigned || !timingSafeEqual(this.sign(bytes.subarray(0, -6)), bytes.subarray(-6))) return false;
    const link = bytes[bytes.length - SIGNATURE_BYTES] ?? 0;
    const time = bytes.readUIntLE(bytes.length - SIGNATURE_BYTES + 1, 6);
    const sender = (system << 16) | (component << 8) | link;
    if (time <= (this.#last.get(sender) ?? -1)) return false;
    this.#last.set(sender, time);
    return true;
  }
}

export const createMavlink = (parameters: FormatParameters): TelemetryFormat => new Mavlink(parameters);

class Mavlink implements TelemetryFormat {
  readonly #vehicle: Vehicle;
  readonly #signatures: Signatures | null;
  /** The vehicle whose messages are used; null: the first one that sends its position. */
  #system: number | null;

  constructor(parameters: FormatParameters) {
    this.#vehicle = new Vehicle(parameters);
    this.#signatures = typeof parameters.password === "string" ? new Signatures(parameters.password) : null;
    this.#system = typeof parameters.system_id === "number" ? parameters.system_id : null;
  }

  /** Most datagrams of a vehicle are about other things, and there are many. */
  isRelevant(payload: Uint8Array | string): boolean {
    if (typeof payload === "string") return true;
    const [used] = readFrames(asBuffer(payload));
    return used !== undefined;
  }

  read(payload: Uint8Array | string, receivedMs: number | null): Reading | null {
    if (typeof payload === "string") throw new TelemetryFault("Expected the bytes of MAVLink messages, not a text.");
    let reading: Reading | null = null;
    let isRejected = false;
    for (const frame of readFrames(asBuffer(payload))) {
      if (this.#signatures !== null && !this.#signatures.accepts(frame)) {
        isRejected = true;
        continue;
      }
      if (this.#system === null && frame.id === GLOBAL_POSITION_INT) this.#system = frame.system;
      if (frame.system !== this.#system) continue;
      reading = this.#vehicle.take(frame, receivedMs ?? 0, false) ?? reading;
    }
    if (reading === null && isRejected)
      throw new TelemetryFault(
        "The MAVLink message has no valid signature; sign messages with the passphrase of the source, in MAVLink 2.",
      );
    return reading;
  }
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

/** Bytes of the time before each frame of a `.tlog`: microseconds since 1970. */
const RECORD_BYTES = 8;
/** Bytes without a frame after which the reader gives others a turn. */
const QUIET_BYTES = 4096;

export function* readTlog(given: Uint8Array, parameters: FormatParameters): Generator<FileReading | null> {
  const bytes = asBuffer(given);
  const vehicle = new Vehicle(parameters);
  let system = typeof parameters.system_id === "number" ? parameters.system_id : null;
  let quiet = 0;
  for (let at = 0; at + RECORD_BYTES < bytes.length; ) {
    const timeMs = Number(bytes.readBigUInt64BE(at)) / 1000;
    const isTime = timeMs > YEAR_2000_MS && timeMs < YEAR_2100_MS;
    const length = isTime ? measureFrame(bytes, at + RECORD_BYTES) : null;
    const frame = length === null ? null : readFrame(bytes, at + RECORD_BYTES);
    if (frame !== null && system === null && frame.id === GLOBAL_POSITION_INT) system = frame.system;
    const reading = frame !== null && frame.system === system ? vehicle.take(frame, timeMs, true) : null;
    const step = length === null ? 1 : RECORD_BYTES + length;
    at += step;
    quiet = reading === null ? quiet + step : 0;
    if (reading !== null || quiet > QUIET_BYTES) {
      quiet = 0;
      yield reading;
    }
  }
}

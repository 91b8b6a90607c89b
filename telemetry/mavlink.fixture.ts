/** Writes MAVLink frames, as a vehicle sends them. */
import { Signatures, sumFrame } from "./mavlink.ts";

const EXTRA: Readonly<Record<number, number>> = { 0: 50, 2: 137, 30: 39, 33: 104, 265: 26, 271: 22, 285: 137 };

export interface FrameOptions {
  readonly version?: 1 | 2;
  readonly system?: number;
  readonly sequence?: number;
  /** Passphrase and time stamp of a signature. */
  readonly signature?: { readonly passphrase: string; readonly time: number };
}

export function writeFrame(id: number, payload: Buffer, options: FrameOptions = {}): Buffer {
  const { version = 2, system = 1, sequence = 0, signature } = options;
  const cut = version === 2 ? cutZeros(payload) : payload;
  const head =
    version === 1
      ? Buffer.from([0xfe, cut.length, sequence, system, 1, id])
      : Buffer.from([0xfd, cut.length, signature ? 1 : 0, 0, sequence, system, 1, id & 255, (id >> 8) & 255, id >> 16]);
  const frame = Buffer.concat([head, cut, Buffer.alloc(2)]);
  frame.writeUInt16LE(sumFrame(frame.subarray(1, -2), EXTRA[id] ?? 0), frame.length - 2);
  if (signature === undefined) return frame;
  const tail = Buffer.alloc(7);
  tail.writeUIntLE(signature.time, 1, 6);
  const signed = Buffer.concat([frame, tail]);
  return Buffer.concat([signed, new Signatures(signature.passphrase).sign(signed)]);
}

function cutZeros(payload: Buffer): Buffer {
  let length = payload.length;
  while (length > 1 && payload[length - 1] === 0) length -= 1;
  return payload.subarray(0, length);
}

export interface PositionFields {
  readonly bootMs?: number;
  readonly latitude?: number;
  readonly longitude?: number;
}

export function writePosition(
  { bootMs = 1000, latitude = 48.13743, longitude = 11.57549 }: PositionFields = {},
  options: FrameOptions = {},
): Buffer {
  const payload = Buffer.alloc(28);
  payload.writeUInt32LE(bootMs, 0);
  payload.writeInt32LE(Math.round(latitude * 1e7), 4);
  payload.writeInt32LE(Math.round(longitude * 1e7), 8);
  payload.writeInt32LE(620_000, 12);
  payload.writeInt32LE(100_000, 16);
  payload.writeInt16LE(300, 20);
  payload.writeInt16LE(400, 22);
  payload.writeUInt16LE(9000, 26);
  return writeFrame(33, payload, options);
}

/** Pitch of the gimbal in degrees; yaw from the nose, or from north. */
export function writeGimbal(pitch: number, flags = 32, yaw = 0, options: FrameOptions = {}): Buffer {
  const payload = Buffer.alloc(49);
  payload.writeUInt32LE(1000, 0);
  const [p, y] = [(pitch * Math.PI) / 360, (yaw * Math.PI) / 360];
  const q = [
    Math.cos(y) * Math.cos(p),
    -Math.sin(y) * Math.sin(p),
    Math.cos(y) * Math.sin(p),
    Math.sin(y) * Math.cos(p),
  ];
  for (const [index, value] of q.entries()) payload.writeFloatLE(value, 4 + index * 4);
  payload.writeUInt16LE(flags, 36);
  payload[48] = 1;
  return writeFrame(285, payload, options);
}

export function writeAttitude(yaw: number, options: FrameOptions = {}): Buffer {
  const payload = Buffer.alloc(28);
  payload.writeUInt32LE(1000, 0);
  payload.writeFloatLE((yaw * Math.PI) / 180, 12);
  return writeFrame(30, payload, options);
}

export function writeView(hfov: number, vfov: number): Buffer {
  const payload = Buffer.alloc(53);
  payload.writeFloatLE(hfov, 44);
  payload.writeFloatLE(vfov, 48);
  payload[52] = 1;
  return writeFrame(271, payload);
}

export function writeClock(unixMs: number, bootMs: number): Buffer {
  const payload = Buffer.alloc(12);
  payload.writeBigUInt64LE(BigInt(unixMs) * 1000n, 0);
  payload.writeUInt32LE(bootMs, 8);
  return writeFrame(2, payload);
}

export const writeHeartbeat = (system = 1): Buffer =>
  writeFrame(0, Buffer.from([0, 0, 0, 0, 2, 3, 81, 4, 3]), { system });

/** A record of a `.tlog`. */
export function writeRecord(timeMs: number, frame: Buffer): Buffer {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(BigInt(Math.round(timeMs * 1000)));
  return Buffer.concat([time, frame]);
}

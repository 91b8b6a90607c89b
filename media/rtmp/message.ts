/** RTMP messages: types, commands (`connect`, `publish`, …) with their responses, and control messages. */
import { MediaError } from "../access-unit.ts";
import { type AmfObject, type AmfValue, isAmfObject, readAmf, writeAmf } from "./amf0.ts";

export interface Message {
  readonly type: number;
  /** 0 for the connection, otherwise the result of `createStream`. */
  readonly streamId: number;
  /** Milliseconds, 32 bits, wraps after 49 days. */
  readonly timestamp: number;
  readonly body: Buffer;
}

export interface OutgoingMessage {
  /** 2 to 63. */
  readonly chunkStream: number;
  readonly type: number;
  readonly streamId: number;
  /** Milliseconds; the lowest 32 bits are sent. */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

export const MESSAGE = {
  setChunkSize: 1,
  abort: 2,
  acknowledgement: 3,
  userControl: 4,
  windowSize: 5,
  peerBandwidth: 6,
  audio: 8,
  video: 9,
  /** The same as `command` after one byte of AMF3. */
  commandAmf3: 17,
  data: 18,
  command: 20,
  /** Several video, audio and data messages as FLV tags. */
  aggregate: 22,
} as const;

/** Events of `userControl`. */
export const EVENT = { streamBegin: 0, pingRequest: 6, pingResponse: 7 } as const;

/** Chunk stream 2 is for control messages; the other numbers are conventional. */
export const CHUNK_STREAM = { control: 2, command: 3, audio: 4, data: 5, video: 6 } as const;

export interface Command {
  readonly name: string;
  /** Repeated in the response. 0: no response is expected. */
  readonly transaction: number;
  readonly object: AmfObject | null;
  readonly args: readonly AmfValue[];
}

/** Reads a message of type `command` or `commandAmf3`. */
export function readCommand({ type, body }: Message): Command {
  const [name, transaction, object, ...args] = readAmf(type === MESSAGE.commandAmf3 ? body.subarray(1) : body);
  if (typeof name !== "string") throw new MediaError("expected a command that starts with its name");
  return {
    name,
    transaction: typeof transaction === "number" ? transaction : 0,
    object: isAmfObject(object) ? object : null,
    args,
  };
}

export const makeCommand = (streamId: number, ...values: readonly AmfValue[]): OutgoingMessage => ({
  ...{ chunkStream: CHUNK_STREAM.command, type: MESSAGE.command, streamId, timestamp: 0 },
  body: writeAmf(...values),
});

export interface Status {
  readonly level: "status" | "error";
  readonly code: string;
  readonly description: string;
}

export const makeStatus = (streamId: number, { level, code, description }: Status): OutgoingMessage =>
  makeCommand(streamId, "onStatus", 0, null, { level, code, description });

/** `windowSize`, `acknowledgement` and `setChunkSize` have one number, `peerBandwidth` also a limit type. */
export function makeControl(type: number, value: number, more: readonly number[] = []): OutgoingMessage {
  const number = Buffer.alloc(4);
  number.writeUInt32BE(value);
  const body = Buffer.concat([number, Uint8Array.from(more)]);
  return { chunkStream: CHUNK_STREAM.control, type, streamId: 0, timestamp: 0, body };
}

export function makeEvent(event: number, value: number): OutgoingMessage {
  const body = Buffer.alloc(6);
  body.writeUInt16BE(event, 0);
  body.writeUInt32BE(value >>> 0, 2);
  return { chunkStream: CHUNK_STREAM.control, type: MESSAGE.userControl, streamId: 0, timestamp: 0, body };
}

/** The response to a ping request; null for any other `userControl` message. */
export function answerPing({ body }: Message): OutgoingMessage | null {
  if (body.length < 6 || body.readUInt16BE(0) !== EVENT.pingRequest) return null;
  return makeEvent(EVENT.pingResponse, body.readUInt32BE(2));
}

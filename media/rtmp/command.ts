/** Commands (`connect`, `publish`, …), their answers, and the small messages that run a connection. */
import { MediaFault } from "../fault.ts";
import { type AmfObject, type AmfValue, isAmfObject, readAmf, writeAmf } from "./amf0.ts";
import type { OutgoingMessage } from "./chunk-writer.ts";
import { CHUNK_STREAM, MESSAGE, type Message } from "./message.ts";

export interface Command {
  readonly name: string;
  /** An answer carries the same. 0: none is wanted. */
  readonly transaction: number;
  readonly object: AmfObject | null;
  readonly args: readonly AmfValue[];
}

/** Of a message of type `command` or `commandAmf3`. */
export function readCommand({ type, body }: Message): Command {
  const [name, transaction, object, ...args] = readAmf(type === MESSAGE.commandAmf3 ? body.subarray(1) : body);
  if (typeof name !== "string") throw new MediaFault("a command begins with its name");
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

/** `windowSize`, `acknowledgement` and `setChunkSize` are a number, `peerBandwidth` a number and how it is meant. */
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

/** Of a message of type `userControl`; null for one that is too short to be one. */
export const readEvent = ({ body }: Message): { event: number; value: number } | null =>
  body.length < 6 ? null : { event: body.readUInt16BE(0), value: body.readUInt32BE(2) };

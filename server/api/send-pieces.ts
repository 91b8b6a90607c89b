/** A long answer, sent as it is made: in the memory of one piece, at the pace of its client, compressed where that is asked for. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import { streamBody } from "../streams/body.ts";

export interface Way {
  readonly raw: IncomingMessage;
  /** A client that takes nothing for so long is let go. */
  readonly stallMs: number;
  onFault(error: unknown): void;
}

type Pieces = AsyncGenerator<Uint8Array, void, undefined>;

/** Rejects when not even the first piece can be made: that is still an answer of its own. */
export async function startPieces(texts: AsyncGenerator<string>, isPacked: boolean): Promise<Pieces> {
  const pieces = toBytes(await texts.next(), texts);
  return isPacked ? pack(pieces) : pieces;
}

async function* toBytes(first: IteratorResult<string>, texts: AsyncGenerator<string>): Pieces {
  try {
    for (let next = first; next.done !== true; next = await texts.next()) yield Buffer.from(next.value);
  } finally {
    await texts.return(undefined);
  }
}

const CHUNK_BYTES = 128 * 1024;

async function* pack(pieces: Pieces): Pieces {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: CHUNK_BYTES });
  // What fails is told by reading: the pieces break off there.
  pipeline(Readable.from(pieces, { objectMode: true, highWaterMark: 1 }), gzip).catch(() => {});
  for await (const chunk of gzip) yield chunk as Uint8Array;
}

/** A file that breaks off breaks the connection off: nobody takes a part of it for the whole. */
export function sendPieces(pieces: Pieces, { raw, stallMs, onFault }: Way): ReadableStream<Uint8Array> {
  const drop = () => void raw.socket.destroy();
  const leave = () => void pieces.return(undefined).catch(() => {});
  const next = async (): Promise<Uint8Array | null> => {
    try {
      const { done, value } = await pieces.next();
      return done ? null : value;
    } catch (error) {
      onFault(error);
      drop();
      throw error;
    }
  };
  return streamBody({ next, leave }, { afterMs: stallMs, drop });
}

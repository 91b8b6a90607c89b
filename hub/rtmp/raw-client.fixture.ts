/** A client that says whatever a test wants, in the order it wants. */

import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { AmfValue } from "../../media/rtmp/amf0.ts";
import { ChunkReader, writeChunks } from "../../media/rtmp/chunks.ts";
import {
  CHUNK_STREAM,
  type Command,
  MESSAGE,
  type Message,
  makeCommand,
  makeControl,
  type OutgoingMessage,
  readCommand,
} from "../../media/rtmp/message.ts";
import { KEY, openSocket, type TestIngest } from "./rtmp.fixture.ts";

const HANDSHAKE_BYTES = 1 + 2 * 1536;
const CHUNK_SIZE = 60_000;

export interface Tag {
  readonly type: number;
  readonly timestamp: number;
  readonly body: Buffer;
}

/** Video and audio of an FLV file. */
export function readTags(file: string): Tag[] {
  const bytes = readFileSync(file);
  const tags: Tag[] = [];
  for (let at = 13; at < bytes.length; ) {
    const length = bytes.readUIntBE(at + 1, 3);
    const timestamp = bytes.readUIntBE(at + 4, 3) + bytes.readUInt8(at + 7) * 2 ** 24;
    tags.push({ type: bytes.readUInt8(at), timestamp, body: bytes.subarray(at + 11, at + 11 + length) });
    at += 11 + length + 4;
  }
  return tags.filter(({ type }) => type === MESSAGE.video || type === MESSAGE.audio);
}

export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly #received: () => Buffer;

  private constructor({ socket, closed, received }: Awaited<ReturnType<typeof openSocket>>) {
    this.socket = socket;
    this.closed = closed;
    this.#received = received;
  }

  /** Hands are shaken, blindly. */
  static async open(ingest: Pick<TestIngest, "port">): Promise<RawClient> {
    const client = new RawClient(await openSocket(ingest.port));
    client.socket.write(Buffer.concat([Buffer.of(3), Buffer.alloc(HANDSHAKE_BYTES - 1)]));
    return client;
  }

  /** On a connection on which nothing was sent yet. */
  static over(connection: Awaited<ReturnType<typeof openSocket>>): RawClient {
    return new RawClient(connection);
  }

  /** Everything up to `publish`. */
  static async publishing(
    ingest: Pick<TestIngest, "port">,
    path: string,
    key: string | null = KEY,
  ): Promise<RawClient> {
    const client = await RawClient.open(ingest);
    const [app = "", ...rest] = path.split("/");
    client.write(makeControl(MESSAGE.setChunkSize, CHUNK_SIZE));
    client.command("connect", { app });
    client.command("createStream", null);
    client.command("publish", null, `${rest.join("/")}${key === null ? "" : `?api_key=${key}`}`, "live");
    return client;
  }

  command(name: string, ...values: readonly AmfValue[]): void {
    this.write(makeCommand(0, name, 1, ...values));
  }

  send({ type, timestamp, body }: Tag): void {
    const chunkStream = type === MESSAGE.video ? CHUNK_STREAM.video : CHUNK_STREAM.audio;
    this.write({ chunkStream, type, streamId: 1, timestamp, body });
  }

  write(message: OutgoingMessage): void {
    this.socket.write(Buffer.concat(writeChunks(message, CHUNK_SIZE)));
  }

  messages(): Message[] {
    const reader = new ChunkReader({ chunkStreams: 64, commandBytes: 65_536, mediaBytes: 0 });
    reader.push(this.#received().subarray(HANDSHAKE_BYTES));
    const messages: Message[] = [];
    for (let message = reader.next(); message !== null; message = reader.next()) messages.push(message);
    return messages;
  }

  answers(): Command[] {
    return this.messages()
      .filter(({ type }) => type === MESSAGE.command)
      .map(readCommand);
  }

  /** Code and description of every status received. */
  statuses(): [code: unknown, description: unknown][] {
    return this.answers()
      .filter(({ name }) => name === "onStatus")
      .map(({ args }) => args[0] as { code?: unknown; description?: unknown })
      .map(({ code, description }) => [code, description]);
  }
}

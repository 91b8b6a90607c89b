/**
 * One connection of a publisher: handshake, commands, leave to publish, pictures. Until it has leave, not one byte of its
 * media is kept; while leave is asked for, nothing is read from it at all.
 */

import type { Socket } from "node:net";
import { MediaError } from "../../media/access-unit.ts";
import { ChunkReader, writeChunks } from "../../media/rtmp/chunks.ts";
import { Handshake } from "../../media/rtmp/handshake.ts";
import {
  answerPing,
  EVENT,
  MESSAGE,
  type Message,
  makeControl,
  makeEvent,
  makeStatus,
  type OutgoingMessage,
  readCommand,
  type Status,
} from "../../media/rtmp/message.ts";
import { plainAddress } from "../../schemas/client-origin.ts";
import type { HubSettings } from "../../schemas/hub.ts";
import type { Connections } from "../connections.ts";
import { type Doorman, Refused } from "../doorman.ts";
import { guardBy } from "../guard.ts";
import { Intake, IntakeFault } from "../intake.ts";
import type { Log } from "../log.ts";
import { type Publication, StreamRefusal, type Streams } from "../streams.ts";
import { type Answers, answerCommand } from "./commands.ts";
import { Publishing, WrongCodec } from "./publishing.ts";
import { BAD_ADDRESS, describeRefusal } from "./refusal.ts";
import { readStreamAddress, type StreamAddress } from "./stream-address.ts";

export interface RtmpParts {
  readonly settings: Pick<HubSettings, "limits">;
  readonly streams: Streams;
  readonly doorman: Pick<Doorman, "authorize">;
  readonly connections: Connections;
  readonly log: Log;
}

const CHUNK_STREAMS = 64;
const COMMAND_BYTES = 64 * 1024;
/** A tag around the picture. */
const TAG_BYTES = 1024;
/** Of everything that comes before leave is asked for: a handshake and a few commands. */
const HELLO_BYTES = 256 * 1024;
/** Our answers are small: with so much waiting, nobody reads them. */
const UNREAD_BYTES = 64 * 1024;
/** Bytes received between two acknowledgements, unless the publisher wants them more often; but never more often than the least. */
const WINDOW_BYTES = 2_500_000;
const LEAST_WINDOW_BYTES = 64 * 1024;
/** To read our last words; then the connection is cut. */
const LEAVE_MS = 2000;

export class RtmpSession {
  readonly #socket: Socket;
  readonly #parts: RtmpParts;
  readonly #address: string;
  readonly #reader: ChunkReader;
  readonly #answers: Answers;
  #handshake: Handshake | null;
  #timer: NodeJS.Timeout;
  #isAsking = false;
  #isLeaving = false;
  #streamId = 0;
  #publication: Publication | null = null;
  #publishing: Publishing | null = null;
  #received = 0;
  #acknowledged = 0;
  #window = WINDOW_BYTES;

  constructor(socket: Socket, parts: RtmpParts) {
    const { helloMs, unitBytes } = parts.settings.limits;
    this.#socket = socket;
    this.#parts = parts;
    this.#address = plainAddress(socket.remoteAddress ?? "");
    const mediaBytes = unitBytes + TAG_BYTES;
    this.#reader = new ChunkReader({ chunkStreams: CHUNK_STREAMS, commandBytes: COMMAND_BYTES, mediaBytes });
    this.#handshake = new Handshake("server", (bytes) => socket.write(bytes));
    this.#answers = {
      connected: null,
      commands: 0,
      write: (message) => this.#write(message),
      publish: (streamId, name) => this.#ask(streamId, name),
      refuse: (streamId, status) => this.#refuse(streamId, status),
      finish: (streamId) => this.#finish(streamId),
    };
    this.#timer = setTimeout(() => this.#cut(`it did not publish within ${helloMs / 1000} s`), helloMs);
    socket.setNoDelay(true);
    const guard = guardBy((error) => this.#fail(error));
    socket.on(
      "data",
      guard((bytes: Buffer) => this.#receive(bytes)),
    );
    // What is wrong is told by the end that follows.
    socket.on("error", () => {});
    socket.on(
      "close",
      guard(() => this.#close("the publisher's connection was closed")),
    );
  }

  /** At once. */
  close(reason: string): void {
    this.#close(reason);
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.#isLeaving) return;
    this.#received += bytes.length;
    if (this.#publication === null && this.#received > HELLO_BYTES) {
      throw new MediaError(`${HELLO_BYTES} bytes came, and nothing is published`);
    }
    const rest = this.#handshake === null ? bytes : this.#handshake.push(bytes);
    if (rest === null) return;
    this.#handshake = null;
    this.#acknowledge();
    this.#reader.push(rest);
    this.#readOn();
  }

  #readOn(): void {
    while (!this.#isAsking && !this.#isLeaving) {
      const message = this.#reader.next();
      if (message === null) return;
      this.#take(message);
    }
  }

  #take(message: Message): void {
    switch (message.type) {
      case MESSAGE.video:
      case MESSAGE.audio:
        this.#publishing?.take(message);
        return;
      case MESSAGE.command:
      case MESSAGE.commandAmf3:
        answerCommand(readCommand(message), message.streamId, this.#answers);
        return;
      case MESSAGE.windowSize:
        if (message.body.length >= 4) this.#window = Math.max(message.body.readUInt32BE(0), LEAST_WINDOW_BYTES);
        return;
      case MESSAGE.userControl: {
        const pong = answerPing(message);
        if (pong !== null) this.#write(pong);
        return;
      }
    }
  }

  #ask(streamId: number, name: string): void {
    if (this.#publication !== null) throw new MediaError("it publishes twice");
    const { connected } = this.#answers;
    const address = connected === null ? null : readStreamAddress(connected, name);
    if (address === null) {
      this.#refuse(streamId, BAD_ADDRESS);
      return;
    }
    this.#isAsking = true;
    this.#socket.pause();
    clearTimeout(this.#timer);
    this.#publish(streamId, address).catch((error: unknown) => {
      if (error instanceof Refused || error instanceof StreamRefusal) {
        this.#refuse(streamId, describeRefusal(error), address.path);
      } else this.#fail(error);
    });
  }

  async #publish(streamId: number, { path, secret }: StreamAddress): Promise<void> {
    const question = { action: "publish", protocol: "rtmp", path, secret, address: this.#address } as const;
    const { recording } = await this.#parts.doorman.authorize(question);
    if (this.#isLeaving || this.#socket.destroyed) return;
    this.#begin(streamId, this.#parts.streams.publish(path, "rtmp", recording));
  }

  #begin(streamId: number, publication: Publication): void {
    this.#streamId = streamId;
    this.#publication = publication;
    this.#publishing = new Publishing(new Intake(publication, this.#parts.settings.limits));
    this.#publishing.onSoundLeftOut = (reason) =>
      this.#log("warn", `rtmp: sound is left out: ${reason}`, { path: publication.path });
    void publication.ended.then((description) => {
      this.#refuse(streamId, { level: "error", code: "NetStream.Publish.Rejected", description });
    });
    this.#write(makeEvent(EVENT.streamBegin, streamId));
    const description = `${publication.path} is published`;
    this.#write(makeStatus(streamId, { level: "status", code: "NetStream.Publish.Start", description }));
    this.#isAsking = false;
    this.#reader.readsMedia = true;
    this.#readOn();
    this.#socket.resume();
  }

  #acknowledge(): void {
    if (this.#received - this.#acknowledged < this.#window / 2) return;
    this.#acknowledged = this.#received;
    this.#write(makeControl(MESSAGE.acknowledgement, this.#received % 2 ** 32));
  }

  #write(message: OutgoingMessage): void {
    if (this.#isLeaving) return;
    if (this.#socket.writableLength > UNREAD_BYTES) throw new MediaError("it does not read what it is answered");
    this.#socket.write(Buffer.concat(writeChunks(message)));
  }

  #refuse(streamId: number, status: Status, path = this.#publication?.path): void {
    if (this.#isLeaving) return;
    this.#parts.connections.refuse();
    this.#log("info", `rtmp: a publisher is refused: ${status.description}`, { path });
    this.#socket.write(Buffer.concat(writeChunks(makeStatus(streamId, status))));
    this.#leave(status.description);
  }

  /** Whoever says that it is over goes by itself: rtmp2sink calls it an error when we go first. */
  #finish(streamId: number): void {
    const description = "the stream is over";
    this.#write(makeStatus(streamId, { level: "status", code: "NetStream.Unpublish.Success", description }));
    this.#close("the publisher ended the stream");
    this.#timer = setTimeout(() => this.#socket.destroy(), LEAVE_MS);
  }

  #fail(error: unknown): void {
    const isTheirs = error instanceof WrongCodec || error instanceof MediaError || error instanceof IntakeFault;
    if (!isTheirs) {
      this.#log("error", "rtmp: a fault of the media server", { error: error instanceof Error ? error.stack : error });
    }
    const reason = isTheirs ? error.message : "a fault of the media server";
    // Strangers get no answer: whoever publishes is told what to mend.
    if (this.#publication === null) this.#cut(reason);
    else this.#refuse(this.#streamId, { level: "error", code: "NetStream.Publish.Rejected", description: reason });
  }

  /** The other side may read what was said; what it says is not heard any more. */
  #leave(reason: string): void {
    if (this.#isLeaving) return;
    this.#close(reason);
    this.#timer = setTimeout(() => this.#socket.destroy(), LEAVE_MS);
    this.#socket.resume().end();
  }

  #cut(reason: string): void {
    if (!this.#isLeaving) this.#log("debug", `rtmp: a connection is cut: ${reason}`, {});
    this.close(reason);
  }

  #close(reason: string): void {
    clearTimeout(this.#timer);
    this.#isLeaving = true;
    this.#publication?.close(reason);
    this.#publishing = null;
  }

  #log(level: Parameters<Log>[0], message: string, fields: Record<string, unknown>): void {
    this.#parts.log(level, message, { address: this.#address, ...fields });
  }
}

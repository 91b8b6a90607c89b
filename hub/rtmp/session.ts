/**
 * One RTMP connection of a publisher: accept → handshake → commands → authorize → publish → close. Until it is authorized,
 * none of its media is buffered; while authorization is pending, nothing is read from the socket.
 */
import type { Socket } from "node:net";
import { MediaError } from "../../media/access-unit.ts";
import { CODECS } from "../../media/codecs.ts";
import { ChunkReader, writeChunks } from "../../media/rtmp/chunks.ts";
import { Handshake } from "../../media/rtmp/handshake.ts";
import {
  answerPing,
  type Command,
  EVENT,
  MESSAGE,
  type Message,
  makeCommand,
  makeControl,
  makeEvent,
  makeStatus,
  type OutgoingMessage,
  readCommand,
  type Status,
} from "../../media/rtmp/message.ts";
import { plainAddress } from "../../schemas/client-origin.ts";
import { type ListenOptions, openTcpPort, type SessionDeps, type TcpPort } from "../connections.ts";
import { describeBug, guardBy, INTERNAL_ERROR, type RejectionKind, StreamRejected } from "../errors.ts";
import { Ingest } from "../ingest.ts";
import type { Publication } from "../live-stream.ts";
import type { Log } from "../log.ts";
import { type RtmpConnect, readStreamAddress, type StreamAddress } from "../path.ts";
import { RtmpToStream } from "./to-stream.ts";

/** Rejects if it cannot listen. */
export const openRtmp = (options: ListenOptions): Promise<TcpPort> =>
  openTcpPort("rtmp", options, (socket) => new RtmpSession(socket, options));

const CHUNK_STREAMS = 64;
const COMMAND_BYTES = 64 * 1024;
/** Overhead of a video message besides the picture. */
const TAG_BYTES = 1024;
/** Limit before publishing: a handshake and a few commands. */
const HELLO_BYTES = 256 * 1024;
/** Responses are small: with more queued, the client does not read. */
const UNREAD_BYTES = 64 * 1024;
/** Bytes between two acknowledgements. Publishers can ask for a smaller window, down to the minimum. */
const WINDOW_BYTES = 2_500_000;
const MIN_WINDOW_BYTES = 64 * 1024;
/** Time for the client to read the last response. */
const CLOSE_MS = 2000;
/** A publisher sends about six, for any duration. */
const MAX_COMMANDS = 100;
const MAX_TEXT_CHARS = 2048;
/** Every connection has one stream. */
const STREAM_ID = 1;
/** Limit type of `peerBandwidth`. */
const DYNAMIC = 2;

/** Require `connect`. */
const COMMANDS = new Set([
  ...["releaseStream", "FCPublish", "createStream", "publish", "FCUnpublish", "closeStream", "deleteStream"],
  ...["play", "play2"],
]);

const STATUS_CODES: Readonly<Record<RejectionKind, string>> = {
  unauthorized: "NetStream.Publish.Denied",
  slow_down: "NetStream.Publish.Denied",
  forbidden: "NetStream.Publish.Denied",
  unknown: "NetStream.Publish.BadName",
  busy: "NetStream.Publish.BadName",
  not_live: "NetStream.Publish.BadName",
  too_many: "NetStream.Failed",
  unavailable: "NetStream.Failed",
};

class RtmpSession {
  readonly #socket: Socket;
  readonly #deps: SessionDeps;
  readonly #address: string;
  readonly #reader: ChunkReader;
  #handshake: Handshake | null;
  #timer: NodeJS.Timeout;
  /** Null before `connect`. */
  #connected: RtmpConnect | null = null;
  #commands = 0;
  #isAuthorizing = false;
  #isClosing = false;
  #streamId = 0;
  #release: () => void = () => {};
  #publication: Publication | null = null;
  #toStream: RtmpToStream | null = null;
  #received = 0;
  #acknowledged = 0;
  #window = WINDOW_BYTES;
  readonly receive: (bytes: Buffer) => void;

  constructor(socket: Socket, deps: SessionDeps) {
    const { helloMs, unitBytes } = deps.settings.limits;
    this.#socket = socket;
    this.#deps = deps;
    this.#address = plainAddress(socket.remoteAddress ?? "");
    const mediaBytes = unitBytes + TAG_BYTES;
    this.#reader = new ChunkReader({ chunkStreams: CHUNK_STREAMS, commandBytes: COMMAND_BYTES, mediaBytes });
    this.#handshake = new Handshake("server", (bytes) => socket.write(bytes));
    this.#timer = setTimeout(() => this.#cut(this.#describeSilence(helloMs / 1000), "debug"), helloMs);
    const guard = guardBy((error) => this.#fail(error));
    this.receive = guard((bytes) => this.#receive(bytes));
    // The "close" event follows.
    socket.on("error", () => {});
    socket.on(
      "close",
      guard(() => this.#end("the publisher closed the connection")),
    );
  }

  /** Closes immediately. */
  close(reason: string): void {
    this.#end(reason);
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.#isClosing) return;
    this.#received += bytes.length;
    if (this.#publication === null && this.#received > HELLO_BYTES) {
      throw new MediaError(`received ${HELLO_BYTES} bytes without a stream being published`);
    }
    const rest = this.#handshake === null ? bytes : this.#handshake.push(Buffer.from(bytes));
    if (rest === null) return;
    this.#handshake = null;
    this.#acknowledge();
    this.#reader.push(rest);
    this.#readMessages();
    this.#reader.keepRest();
  }

  #readMessages(): void {
    while (!this.#isAuthorizing && !this.#isClosing) {
      const message = this.#reader.next();
      if (message === null) return;
      this.#handle(message);
    }
  }

  #handle(message: Message): void {
    switch (message.type) {
      case MESSAGE.video:
      case MESSAGE.audio:
      case MESSAGE.aggregate:
        this.#toStream?.push(message);
        return;
      case MESSAGE.command:
      case MESSAGE.commandAmf3:
        this.#handleCommand(readCommand(message), message.streamId || STREAM_ID);
        return;
      case MESSAGE.windowSize:
        if (message.body.length >= 4) this.#window = Math.max(message.body.readUInt32BE(0), MIN_WINDOW_BYTES);
        return;
      case MESSAGE.userControl: {
        const pong = answerPing(message);
        if (pong !== null) this.#write(pong);
        return;
      }
    }
  }

  /** Unknown commands are ignored: clients send more than they need. */
  #handleCommand(command: Command, streamId: number): void {
    const { name, transaction, args } = command;
    if (++this.#commands > MAX_COMMANDS) throw new MediaError(`more than ${MAX_COMMANDS} commands`);
    if (this.#connected === null && COMMANDS.has(name)) throw new MediaError(`received ${name} before connect`);
    switch (name) {
      case "connect":
        this.#connect(command);
        return;
      case "releaseStream":
      case "FCPublish":
        if (transaction > 0) this.#write(makeCommand(0, "_result", transaction, null, null));
        if (name === "FCPublish") {
          const status = { level: "status", code: "NetStream.Publish.Start", description: "continue with publish" };
          this.#write(makeCommand(0, "onFCPublish", 0, null, status));
        }
        return;
      case "createStream":
        this.#write(makeCommand(0, "_result", transaction, null, STREAM_ID));
        return;
      case "publish":
        this.#requestPublish(streamId, readText(args[0]));
        return;
      case "FCUnpublish":
      case "closeStream":
      case "deleteStream":
        this.#unpublish(streamId);
        return;
      case "play":
      case "play2": {
        const description = "RTMP is for publishing only: play by RTSP, HLS or WebRTC";
        this.#reject(streamId, { level: "error", code: "NetStream.Play.Failed", description });
      }
    }
  }

  #connect({ transaction, object }: Command): void {
    if (this.#connected !== null) throw new MediaError("received a second connect");
    const { app, tcUrl } = object ?? {};
    this.#connected = { app: readText(app), tcUrl: readText(tcUrl) };
    this.#write(makeControl(MESSAGE.windowSize, WINDOW_BYTES));
    this.#write(makeControl(MESSAGE.peerBandwidth, WINDOW_BYTES, [DYNAMIC]));
    // Enhanced RTMP: codecs beyond those of FLV.
    const server = { fmsVer: "FMS/3,0,1,123", capabilities: 31, fourCcList: [CODECS.h265.fourCc] };
    const code = "NetConnection.Connect.Success";
    const status = { level: "status", code, description: "connected", objectEncoding: 0 };
    this.#write(makeCommand(0, "_result", transaction, server, status));
  }

  #requestPublish(streamId: number, name: string): void {
    if (this.#publication !== null) throw new MediaError("received a second publish");
    const address = this.#connected === null ? null : readStreamAddress(this.#connected, name);
    if (address === null) {
      const description = "expected the address rtmp://host/<username>/<path>, of letters, digits and ._~-";
      this.#reject(streamId, { level: "error", code: STATUS_CODES.unknown, description });
      return;
    }
    this.#isAuthorizing = true;
    this.#socket.pause();
    clearTimeout(this.#timer);
    this.#publish(streamId, address).catch((error: unknown) => {
      if (!(error instanceof StreamRejected)) this.#fail(error);
      else {
        const status = { level: "error", code: STATUS_CODES[error.kind], description: error.message } as const;
        this.#reject(streamId, status, address.path);
      }
    });
  }

  async #publish(streamId: number, { path, secret }: StreamAddress): Promise<void> {
    const { access, connections, streams, settings } = this.#deps;
    const request = { action: "publish", protocol: "rtmp", path, secret, address: this.#address } as const;
    const { recording, key } = await access.authorize(request);
    if (this.#isClosing || this.#socket.destroyed) {
      streams.abandon(path);
      return;
    }
    const publication = this.#begin(path, recording);
    this.#release = connections.hold(key, (reason) => publication.close(reason));
    this.#streamId = streamId;
    this.#publication = publication;
    this.#toStream = new RtmpToStream(new Ingest(publication, settings.limits), (reason) =>
      this.#log("warn", `rtmp audio dropped: ${reason}`, { path }),
    );
    void publication.ended.then((description) => {
      this.#reject(streamId, { level: "error", code: "NetStream.Publish.Rejected", description });
    });
    this.#write(makeEvent(EVENT.streamBegin, streamId));
    const description = `${path} is published`;
    this.#write(makeStatus(streamId, { level: "status", code: "NetStream.Publish.Start", description }));
    this.#isAuthorizing = false;
    this.#reader.readsMedia = true;
    this.#readMessages();
    this.#socket.resume();
  }

  /** Throws `StreamRejected`. */
  #begin(path: string, recording: string | null): Publication {
    const { streams } = this.#deps;
    try {
      return streams.publish(path, "rtmp", recording);
    } catch (error) {
      streams.abandon(path, { protocol: "rtmp", error });
      throw error;
    }
  }

  #acknowledge(): void {
    if (this.#received - this.#acknowledged < this.#window / 2) return;
    this.#acknowledged = this.#received;
    this.#write(makeControl(MESSAGE.acknowledgement, this.#received % 2 ** 32));
  }

  #write(message: OutgoingMessage): void {
    if (this.#isClosing) return;
    if (this.#socket.writableLength > UNREAD_BYTES) throw new MediaError("the client does not read responses");
    this.#socket.write(Buffer.concat(writeChunks(message)));
  }

  /** Sends the status and closes, after the client could read it. */
  #reject(streamId: number, status: Status, path = this.#publication?.path): void {
    if (this.#isClosing) return;
    this.#deps.connections.rejected += 1;
    this.#log("info", `rtmp publisher rejected: ${status.description}`, { path });
    this.#socket.write(Buffer.concat(writeChunks(makeStatus(streamId, status))));
    this.#end(status.description);
    this.#timer = setTimeout(() => this.#socket.destroy(), CLOSE_MS);
    this.#socket.resume().end();
  }

  /** The client closes the connection: rtmp2sink reports an error if the server does. */
  #unpublish(streamId: number): void {
    const description = "the stream has ended";
    this.#write(makeStatus(streamId, { level: "status", code: "NetStream.Unpublish.Success", description }));
    this.#end("the publisher ended the stream");
    this.#timer = setTimeout(() => this.#socket.destroy(), CLOSE_MS);
  }

  #fail(error: unknown): void {
    const isTheirs = error instanceof MediaError;
    if (!isTheirs) this.#log("error", "rtmp session failed", { error: describeBug(error) });
    const reason = isTheirs ? error.message : INTERNAL_ERROR;
    // Only authorized publishers get a reason.
    if (this.#publication === null) this.#cut(reason);
    else this.#reject(this.#streamId, { level: "error", code: "NetStream.Publish.Rejected", description: reason });
  }

  /** Not authorized: the peer gets no reason, but operators need to know why a drone does not appear. */
  #cut(reason: string, level: "info" | "debug" = "info"): void {
    if (!this.#isClosing) this.#log(level, `rtmp connection closed: ${reason}`, {});
    this.close(reason);
  }

  #describeSilence(seconds: number): string {
    const missing = this.#handshake?.missingBytes ?? 0;
    if (missing === 0) return `the client did not publish within ${seconds} s`;
    return `the handshake was not complete within ${seconds} s: ${missing} bytes are missing`;
  }

  /** From here on, input is ignored. */
  #end(reason: string): void {
    clearTimeout(this.#timer);
    this.#isClosing = true;
    this.#release();
    this.#publication?.close(reason);
    this.#toStream = null;
  }

  #log(level: Parameters<Log>[0], message: string, fields: Record<string, unknown>): void {
    this.#deps.log(level, message, { address: this.#address, ...fields });
  }
}

function readText(value: unknown): string {
  return typeof value === "string" && value.length <= MAX_TEXT_CHARS ? value : "";
}

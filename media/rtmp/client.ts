/** One connection to an RTMP server: commands with and without a response, and the server's rejections as text. */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type ConnectOptions, failOnAbort } from "../publisher.ts";
import { type AmfValue, isAmfObject } from "./amf0.ts";
import { ChunkReader, INITIAL_CHUNK_SIZE, writeChunks } from "./chunks.ts";
import { Handshake } from "./handshake.ts";
import {
  answerPing,
  type Command,
  MESSAGE,
  type Message,
  makeCommand,
  makeControl,
  type OutgoingMessage,
  readCommand,
} from "./message.ts";

export interface RtmpAddress {
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: number;
  /** Everything before the last slash of the path. */
  readonly app: string;
  /** With the query, where servers expect keys. */
  readonly name: string;
  readonly tcUrl: string;
}

/** Throws a `TypeError` unless it is an RTMP URL. The message omits the URL, which may contain secrets. */
export function readRtmpAddress(address: string): RtmpAddress {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !["rtmp:", "rtmps:"].includes(url.protocol) || url.hostname === "") {
    throw new TypeError("expected a URL of the form rtmp://host/app/name or rtmps://host/app/name");
  }
  const isSecure = url.protocol === "rtmps:";
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const name = segments.length > 1 ? (segments.pop() ?? "") : "";
  const app = segments.join("/");
  return {
    isSecure,
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (isSecure ? 443 : 1935) : Number(url.port),
    app,
    name: `${name}${readQuery(url)}`,
    tcUrl: `${url.protocol}//${url.host}/${app}`,
  };
}

/** RTMP has no field for user and password; servers that need them read them from the query. */
function readQuery({ search, username, password }: URL): string {
  if (password === "") return search;
  return `${search === "" ? "?" : `${search}&`}user=${username}&pass=${password}`;
}

export interface RtmpConnectOptions extends ConnectOptions {
  /** Certificates to trust besides those of the system. */
  readonly ca?: string | undefined;
}

/** Accepted by every known server; few chunks per picture. */
const CHUNK_SIZE = 60_000;
const LIMITS = { chunkStreams: 64, commandBytes: 64 * 1024, mediaBytes: 0 };
const MAX_REASON_CHARS = 300;

interface PendingCommand {
  /** An `_error` with this number rejects the command. */
  readonly transaction: number;
  accepts(command: Command): boolean;
  resolve(command: Command): void;
  reject(error: Error): void;
}

export class RtmpClient {
  /** Resolves once, with the reason. */
  readonly closed: Promise<string>;
  readonly #socket: Socket;
  readonly #address: RtmpAddress;
  readonly #stepMs: number;
  readonly #reader = new ChunkReader(LIMITS);
  readonly #pending = new Set<PendingCommand>();
  #chunkSize = INITIAL_CHUNK_SIZE;
  #transaction = 0;
  #reason: string | null = null;
  #resolveClosed: (reason: string) => void = () => {};
  #progressAtMs = performance.now();

  private constructor(socket: Socket, address: RtmpAddress, stepMs: number) {
    this.#socket = socket;
    this.#address = address;
    this.#stepMs = stepMs;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    socket.on("error", (error) => this.fail(describeError(error)));
    socket.on("close", () => this.fail("the server closed the connection"));
  }

  /** Connects and completes the handshake. */
  static async open(address: RtmpAddress, options: RtmpConnectOptions): Promise<RtmpClient> {
    const socket = openSocket(address, options);
    const client = new RtmpClient(socket, address, options.stepMs);
    failOnAbort(options.signal, socket, (reason) => client.fail(reason));
    socket.setNoDelay(true);
    await client.#limit("accept the connection", (resolve) =>
      socket.once(address.isSecure ? "secureConnect" : "connect", resolve),
    );
    await client.#limit("complete the handshake", (resolve) => client.#shakeHands(() => resolve(null)));
    client.write(makeControl(MESSAGE.setChunkSize, CHUNK_SIZE));
    client.#chunkSize = CHUNK_SIZE;
    return client;
  }

  get isClosed(): boolean {
    return this.#reason !== null;
  }

  /** Bytes that the server has not accepted yet. */
  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  /** How long the oldest of them has been queued; 0 without any. */
  get stalledMs(): number {
    return this.queuedBytes === 0 ? 0 : performance.now() - this.#progressAtMs;
  }

  write(message: OutgoingMessage): void {
    if (this.#reason !== null) return;
    if (this.queuedBytes === 0) this.#progressAtMs = performance.now();
    const pieces = writeChunks(message, this.#chunkSize);
    this.#socket.cork();
    for (const piece of pieces.slice(0, -1)) this.#socket.write(piece);
    this.#socket.write(pieces.at(-1) ?? Buffer.alloc(0), () => {
      this.#progressAtMs = performance.now();
    });
    this.#socket.uncork();
  }

  /** Sends a command without waiting for a response. */
  send(streamId: number, name: string, ...values: readonly AmfValue[]): void {
    this.#transaction += 1;
    this.write(makeCommand(streamId, name, this.#transaction, ...values));
  }

  /** Sends a command and waits for its `_result`. */
  async call(name: string, ...values: readonly AmfValue[]): Promise<Command> {
    this.send(0, name, ...values);
    const transaction = this.#transaction;
    return this.#await(name, (command) => command.transaction === transaction && command.name === "_result");
  }

  /** Sends `publish` and waits until the server starts the stream. */
  async publish(streamId: number, name: string): Promise<void> {
    this.send(streamId, "publish", null, name, "live");
    const isStart = ({ name: kind, args }: Command) =>
      kind === "onStatus" && JSON.stringify(args[0] ?? null).includes("NetStream.Publish.Start");
    await this.#await("publish", isStart);
  }

  /** Closes after everything is sent, at the latest after `stepMs`. */
  async end(): Promise<void> {
    this.#close("closed");
    if (this.#socket.destroyed) return;
    const timer = setTimeout(() => this.#socket.destroy(), this.#stepMs);
    await new Promise<void>((resolve) => {
      this.#socket.once("close", () => resolve());
      this.#socket.resume().end();
    });
    clearTimeout(timer);
  }

  fail(reason: string): void {
    this.#close(reason);
    this.#socket.destroy();
  }

  #close(reason: string): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#resolveClosed(reason);
    for (const { reject } of this.#pending) reject(new Error(reason));
    this.#pending.clear();
  }

  #shakeHands(done: () => void): void {
    let handshake: Handshake | null = new Handshake("client", (bytes) => this.#socket.write(bytes));
    this.#socket.on("data", (bytes) => {
      if (this.#reason !== null) return;
      try {
        const rest = handshake === null ? bytes : handshake.push(bytes);
        if (rest === null) return;
        if (handshake !== null) done();
        handshake = null;
        this.#reader.push(rest);
        for (let message = this.#reader.next(); message !== null; message = this.#reader.next()) this.#handle(message);
      } catch (error) {
        this.fail(`the server does not speak RTMP: ${describeError(error)}`);
      }
    });
  }

  #handle(message: Message): void {
    if (message.type === MESSAGE.userControl) {
      const pong = answerPing(message);
      if (pong !== null) this.write(pong);
    }
    if (message.type !== MESSAGE.command && message.type !== MESSAGE.commandAmf3) return;
    const command = readCommand(message);
    const pending = [...this.#pending];
    // Commands without a waiting caller may fail: many servers do not support `releaseStream`.
    const isAnswer = command.name === "_error" && pending.some((one) => one.transaction === command.transaction);
    if (isAnswer || isRejection(command)) this.fail(describeRejection(command, this.#address.name));
    for (const one of pending) if (one.accepts(command)) one.resolve(command);
  }

  #await(name: string, accepts: PendingCommand["accepts"]): Promise<Command> {
    let entry: PendingCommand | undefined;
    return this.#limit<Command>(`answer ${name}`, (resolve, reject) => {
      entry = { transaction: this.#transaction, accepts, resolve, reject };
      this.#pending.add(entry);
    }).finally(() => {
      if (entry !== undefined) this.#pending.delete(entry);
    });
  }

  /** Fails the connection when the step exceeds `stepMs`, and the step when the connection fails. */
  async #limit<T>(
    step: string,
    run: (resolve: (value: T) => void, reject: (error: Error) => void) => void,
  ): Promise<T> {
    const timer = setTimeout(
      () => this.fail(`the server did not ${step} within ${this.#stepMs / 1000} s`),
      this.#stepMs,
    );
    const failure = this.closed.then((reason): never => {
      throw new Error(reason);
    });
    try {
      return await Promise.race([new Promise<T>(run), failure]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function openSocket({ isSecure, host: name, port }: RtmpAddress, { host = name, ca }: RtmpConnectOptions): Socket {
  if (!isSecure) return connectTcp({ host, port });
  const servername = isIP(name) === 0 ? { servername: name } : {};
  return connectTls({ host, port, ...servername, ...(ca !== undefined && { ca }) });
}

const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whether the server says that a stream cannot start, or must end. */
export function isRejection({ name, args: [info] }: Command): boolean {
  if (name !== "onStatus" || !isAmfObject(info)) return false;
  return info.level === "error" || info.code === "NetStream.Unpublish.Success";
}

/** Quotes the server without the stream's name, which is a secret on many servers. */
export function describeRejection({ object, args }: Command, streamName: string): string {
  const info = isAmfObject(args[0]) ? args[0] : object;
  const reason = [info?.description, info?.code].find((text) => typeof text === "string" && text !== "");
  const text = typeof reason === "string" ? reason : "it gave no reason";
  const [name = "", query = ""] = streamName.split("?");
  const masked = [streamName, query, name].reduce(
    (rest, part) => (part.length < 4 ? rest : rest.replaceAll(part, "***")),
    text,
  );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removes control characters
  const clean = masked.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, MAX_REASON_CHARS);
  return `the server rejected the stream: ${clean}`;
}

/** One connection to an RTMP server: commands that are answered, and messages that are not. */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { RtmpAddress } from "./address.ts";
import type { AmfValue } from "./amf0.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { type OutgoingMessage, writeChunks } from "./chunk-writer.ts";
import { type Command, makeCommand, makeControl, makeEvent, readCommand, readEvent } from "./command.ts";
import { Handshake } from "./handshake.ts";
import { EVENT, FIRST_CHUNK_SIZE, MESSAGE, type Message } from "./message.ts";
import { describeRefusal, isRefusal } from "./refusal.ts";

export interface ClientOptions {
  /** The address that is connected to, where it is fixed; the server is told the name in the URL all the same. */
  readonly host?: string | undefined;
  /** For each step: to be connected, to get an answer. */
  readonly stepMs: number;
  /** Certificates to trust besides those of the system. */
  readonly ca?: string | undefined;
  /** Aborted: given up, whatever it is about. */
  readonly signal?: AbortSignal | undefined;
}

/** Known to be good with every server; few chunks for a large picture. */
const CHUNK_SIZE = 60_000;
const LIMITS = { chunkStreams: 64, commandBytes: 64 * 1024, mediaBytes: 0 };

interface Waiting {
  /** An `_error` with the same number is the answer, too. */
  readonly transaction: number;
  accepts(command: Command): boolean;
  resolve(command: Command): void;
  reject(error: Error): void;
}

export class RtmpClient {
  /** Resolves with the reason, once. */
  readonly closed: Promise<string>;
  readonly #socket: Socket;
  readonly #address: RtmpAddress;
  readonly #stepMs: number;
  readonly #reader = new ChunkReader(LIMITS);
  readonly #waiting = new Set<Waiting>();
  #chunkSize = FIRST_CHUNK_SIZE;
  #transaction = 0;
  #reason: string | null = null;
  #settle: (reason: string) => void = () => {};
  #progressAtMs = performance.now();

  private constructor(socket: Socket, address: RtmpAddress, stepMs: number) {
    this.#socket = socket;
    this.#address = address;
    this.#stepMs = stepMs;
    this.closed = new Promise((resolve) => {
      this.#settle = resolve;
    });
    socket.on("error", (error) => this.fail(describeError(error)));
    socket.on("close", () => this.fail("the server closed the connection"));
  }

  /** Connected, hands shaken. */
  static async open(address: RtmpAddress, options: ClientOptions): Promise<RtmpClient> {
    const socket = openSocket(address, options);
    const client = new RtmpClient(socket, address, options.stepMs);
    const giveUp = (): void => client.fail("given up");
    options.signal?.addEventListener("abort", giveUp);
    socket.once("close", () => options.signal?.removeEventListener("abort", giveUp));
    if (options.signal?.aborted) giveUp();
    socket.setNoDelay(true);
    await client.#limit("be connected", (resolve) =>
      socket.once(address.isSecure ? "secureConnect" : "connect", resolve),
    );
    await client.#limit("shake hands", (resolve) => client.#shakeHands(() => resolve(null)));
    client.write(makeControl(MESSAGE.setChunkSize, CHUNK_SIZE));
    client.#chunkSize = CHUNK_SIZE;
    return client;
  }

  get isClosed(): boolean {
    return this.#reason !== null;
  }

  /** Bytes that the other side has not taken yet. */
  get waitingBytes(): number {
    return this.#socket.writableLength;
  }

  /** How long the oldest of them has been waiting; 0 when there are none. */
  get stalledMs(): number {
    return this.waitingBytes === 0 ? 0 : performance.now() - this.#progressAtMs;
  }

  write(message: OutgoingMessage): void {
    if (this.#reason !== null) return;
    if (this.waitingBytes === 0) this.#progressAtMs = performance.now();
    const pieces = writeChunks(message, this.#chunkSize);
    this.#socket.cork();
    for (const piece of pieces.slice(0, -1)) this.#socket.write(piece);
    this.#socket.write(pieces.at(-1) ?? Buffer.alloc(0), () => {
      this.#progressAtMs = performance.now();
    });
    this.#socket.uncork();
  }

  /** Sends a command for which no answer is waited. */
  tell(streamId: number, name: string, ...values: readonly AmfValue[]): void {
    this.#transaction += 1;
    this.write(makeCommand(streamId, name, this.#transaction, ...values));
  }

  /** Sends a command and waits for its `_result`. */
  async call(name: string, ...values: readonly AmfValue[]): Promise<Command> {
    this.tell(0, name, ...values);
    const transaction = this.#transaction;
    return this.#await(name, (command) => command.transaction === transaction && command.name === "_result");
  }

  /** Asks to publish and waits until it may. */
  async publish(streamId: number, name: string): Promise<void> {
    this.tell(streamId, "publish", null, name, "live");
    const isStart = ({ name: kind, args }: Command) =>
      kind === "onStatus" && JSON.stringify(args[0] ?? null).includes("NetStream.Publish.Start");
    await this.#await("publish", isStart);
  }

  /** Takes leave, and waits for as long as a step may take until all is sent. */
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
    this.#settle(reason);
    for (const { reject } of this.#waiting) reject(new Error(reason));
    this.#waiting.clear();
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
        for (let message = this.#reader.next(); message !== null; message = this.#reader.next()) this.#take(message);
      } catch (error) {
        this.fail(`the server does not speak RTMP: ${describeError(error)}`);
      }
    });
  }

  #take(message: Message): void {
    if (message.type === MESSAGE.userControl) {
      const event = readEvent(message);
      if (event?.event === EVENT.pingRequest) this.write(makeEvent(EVENT.pingResponse, event.value));
    }
    if (message.type !== MESSAGE.command && message.type !== MESSAGE.commandAmf3) return;
    const command = readCommand(message);
    const waiting = [...this.#waiting];
    // What nobody waits for may fail: many servers do not know `releaseStream`.
    const isAnswer = command.name === "_error" && waiting.some((one) => one.transaction === command.transaction);
    if (isAnswer || isRefusal(command)) this.fail(describeRefusal(command, this.#address.name));
    for (const one of waiting) if (one.accepts(command)) one.resolve(command);
  }

  #await(name: string, accepts: Waiting["accepts"]): Promise<Command> {
    let entry: Waiting | undefined;
    return this.#limit<Command>(`answer ${name}`, (resolve, reject) => {
      entry = { transaction: this.#transaction, accepts, resolve, reject };
      this.#waiting.add(entry);
    }).finally(() => {
      if (entry !== undefined) this.#waiting.delete(entry);
    });
  }

  /** Fails the connection when the step takes too long, and the step when the connection fails. */
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

function openSocket({ isSecure, host: name, port }: RtmpAddress, { host = name, ca }: ClientOptions): Socket {
  if (!isSecure) return connectTcp({ host, port });
  const servername = isIP(name) === 0 ? { servername: name } : {};
  return connectTls({ host, port, ...servername, ...(ca !== undefined && { ca }) });
}

const describeError = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** One connection: takes requests one after the other, answers them, and hands packets on. */

import type { Socket } from "node:net";
import { MessageReader, RtspError, type RtspItem, type RtspRequest, writeResponse } from "../../media/rtsp/message.ts";
import { guardBy } from "../guard.ts";
import { readPath } from "../path.ts";
import { Client } from "./client.ts";
import { type RequestRefusal, toRefusal } from "./refusal.ts";
import { readRequestUrl } from "./request-url.ts";
import type { RtspContext } from "./rtsp-server.ts";

/** Nobody tries so many keys on one connection by mistake. */
const MOST_WRONG_KEYS = 5;
/** Answers that are not read: whoever lets more wait only asks. */
const ANSWER_BYTES = 65_536;
/** What was said last may still be read. */
const FAREWELL_MS = 2000;

export class Connection {
  readonly #parts: RtspContext;
  readonly #socket: Socket;
  readonly #address: string;
  readonly #client: Client;
  readonly #reader = new MessageReader();
  readonly #guard = guardBy((error) => this.#fail(error));
  readonly #since = performance.now();
  #heardAtMs = performance.now();
  #isBusy = false;
  /** Not null: no more is read, and it is closed then at the latest. */
  #closeAtMs: number | null = null;
  /** Not null: the stream is over, and the client may say good-bye until then. */
  #leaveAtMs: number | null = null;
  #wrongKeys = 0;

  constructor(parts: RtspContext, socket: Socket, address: string) {
    this.#parts = parts;
    this.#socket = socket;
    this.#address = address;
    this.#client = new Client(parts, socket, address, {
      heard: () => {
        this.#heardAtMs = performance.now();
      },
      end: (reason, how) => this.#end(reason, how),
      over: () => {
        this.#leaveAtMs = null;
      },
    });
    socket.setNoDelay(true);
    const guard = this.#guard;
    socket.on("data", (chunk) => {
      if (this.#closeAtMs !== null) return;
      this.#reader.push(chunk);
      this.#pump();
    });
    socket.on(
      "drain",
      guard(() => this.#client.drained()),
    );
    // What went wrong is of no use to anybody; that it is closed is told by the next event.
    socket.on("error", () => {});
    socket.on(
      "close",
      guard(() => this.#client.close("the connection was closed")),
    );
  }

  readonly tick = this.#guard((nowMs: number): void => {
    if (this.#closeAtMs !== null) {
      if (nowMs > this.#closeAtMs) this.#socket.destroy();
      return;
    }
    if (!this.#client.isAdmitted && nowMs - this.#since > this.#parts.settings.limits.helloMs) {
      this.#cut("nobody was let in in time");
    } else if (this.#client.mustBeHeard && nowMs - this.#heardAtMs > this.#parts.sessionSeconds * 1000) {
      this.finish(`nothing was heard for ${this.#parts.sessionSeconds} s`);
    } else if (this.#leaveAtMs !== null && nowMs > this.#leaveAtMs) {
      this.finish("the stream is over");
    } else this.#client.tick(nowMs);
  });

  /** Closes it when what was written has been read, or a little later. */
  finish(reason: string): void {
    if (this.#closeAtMs !== null) return;
    this.#closeAtMs = performance.now() + FAREWELL_MS;
    this.#client.close(reason);
    this.#socket.end();
    // Read and forgotten: a side that still sends must see the end, and not a reset that takes the answer away.
    this.#socket.resume();
  }

  #end(reason: string, how: "cut" | "finish" | "leave"): void {
    if (how === "cut") this.#cut(reason);
    else if (how === "finish") this.finish(reason);
    else this.#leaveAtMs ??= performance.now() + FAREWELL_MS;
  }

  #cut(reason: string): void {
    this.#closeAtMs = performance.now();
    this.#client.close(reason);
    this.#socket.destroy();
  }

  readonly #pump = this.#guard((): void => {
    while (!this.#isBusy && this.#closeAtMs === null) {
      const item = this.#reader.next();
      if (item === null) return;
      this.#take(item);
    }
  });

  #take(item: RtspItem): void {
    this.#heardAtMs = performance.now();
    if (item.kind === "frame") this.#client.frame(item.channel, item.packet);
    if (item.kind !== "request") return;
    this.#isBusy = true;
    this.#socket.pause();
    this.#answer(item)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#isBusy = false;
        if (this.#closeAtMs !== null) return;
        this.#socket.resume();
        this.#pump();
      });
  }

  async #answer(request: RtspRequest): Promise<void> {
    const sequence = request.headers.get("cseq");
    const common = { CSeq: sequence ?? null, Server: "Windhover" };
    try {
      if (!/^\d{1,10}$/.test(sequence ?? "")) throw new RtspError(400, "a CSeq is expected");
      const { headers, body, after } = await this.#client.handle(request);
      this.#write(writeResponse(200, null, { ...common, ...headers }, body));
      after?.();
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal === null) throw error;
      const challenge = refusal.status === 401 ? { "WWW-Authenticate": 'Basic realm="Windhover"' } : {};
      this.#write(writeResponse(refusal.status, refusal.message, { ...common, ...challenge }));
      this.#parts.connections.refuse();
      // That a key is needed is no refusal yet: clients that have one show it when they are asked.
      if (error !== refusal || refusal.status !== 401) this.#logRefusal(request, refusal);
      if (refusal.status === 401 && ++this.#wrongKeys >= MOST_WRONG_KEYS) this.finish("too many wrong keys");
    }
  }

  /** Of publishers, as with RTMP: whoever runs it wants to know why a drone is not seen. Players only ask again. */
  #logRefusal({ method, url }: RtspRequest, { message }: RequestRefusal): void {
    const level = this.#client.isPublishing || method === "ANNOUNCE" ? "info" : "debug";
    const path = readPath(readRequestUrl(url)?.rest ?? "")?.path;
    this.#parts.log(level, `rtsp: ${method} is refused: ${message}`, { address: this.#address, path });
  }

  #write(response: Buffer): void {
    if (this.#closeAtMs !== null || this.#socket.destroyed) return;
    if (!this.#client.isStreaming && this.#socket.writableLength > ANSWER_BYTES) this.#cut("answers are not read");
    else this.#socket.write(response);
  }

  #fail(error: unknown): void {
    if (this.#closeAtMs !== null) return;
    if (error instanceof RtspError) {
      this.#parts.connections.refuse();
      this.#write(writeResponse(error.status, error.message, { CSeq: null, Server: "Windhover", Connection: "close" }));
      this.finish(error.message);
      return;
    }
    this.#client.fail(error);
  }
}

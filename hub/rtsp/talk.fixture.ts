/** A client that sends arbitrary requests. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after } from "node:test";
import type { Publisher } from "../../media/publisher.ts";
import { MessageReader, type RtspFrame, type RtspItem, type RtspResponse } from "../../media/rtsp/message.ts";
import { publishRtsp } from "../../media/rtsp/publisher.ts";
import { KEY } from "./rtsp.fixture.ts";

type Fields = Readonly<Record<string, string | number>>;

export const BASIC = { Authorization: `Basic ${Buffer.from(`any:${KEY}`).toString("base64")}` };
export const SDP = [
  ...["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=-", "t=0 0", "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000"],
  ...["a=fmtp:96 packetization-mode=1", "a=control:streamid=0", ""],
].join("\r\n");
export const RECORD_TCP = { Transport: "RTP/AVP/TCP;unicast;interleaved=0-1;mode=record" };
export const PLAY_TCP = { Transport: "RTP/AVP/TCP;unicast;interleaved=0-1" };

export class Talk {
  readonly socket: Socket;
  readonly frames: RtspFrame[] = [];
  readonly closed: Promise<void>;
  readonly #reader = new MessageReader();
  readonly #answers: RtspResponse[] = [];
  #waiting: ((answer: RtspResponse | null) => void)[] = [];
  #isClosed = false;
  #sequence = 0;
  session: string | null = null;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk) => {
      this.#reader.push(chunk);
      for (let item = this.#reader.next(); item !== null; item = this.#reader.next()) this.#take(item);
    });
    socket.on("error", () => {});
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.#isClosed = true;
        for (const settle of this.#waiting.splice(0)) settle(null);
        resolve();
      });
    });
    after(() => socket.destroy());
  }

  static async open(port: number): Promise<Talk> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Talk(socket);
  }

  /** The answer's status and reason: `401 a key is needed`; `closed` when there is none. */
  async say(method: string, url: string, fields: Fields = {}, body = ""): Promise<string> {
    const answer = await this.ask(method, url, fields, body);
    return answer === null ? "closed" : `${answer.status} ${answer.reason}`;
  }

  async ask(method: string, url: string, fields: Fields = {}, body = ""): Promise<RtspResponse | null> {
    const all: Fields = {
      CSeq: ++this.#sequence,
      ...(this.session === null ? {} : { Session: this.session }),
      ...(body === "" ? {} : { "Content-Length": Buffer.byteLength(body) }),
      ...fields,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    this.socket.write(`${method} ${url} RTSP/1.0\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
    const answer = await this.next();
    this.session = answer?.headers.get("session")?.split(";")[0] ?? this.session;
    return answer;
  }

  /** Null when the connection is closed before there is one. */
  async next(): Promise<RtspResponse | null> {
    const known = this.#answers.shift();
    if (known !== undefined || this.#isClosed) return known ?? null;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #take(item: RtspItem): void {
    if (item.kind === "frame") this.frames.push(item);
    if (item.kind !== "response") return;
    const resolve = this.#waiting.shift();
    if (resolve === undefined) this.#answers.push(item);
    else resolve(item);
  }
}

const SPS = Buffer.from("Z0LADdkBQfsBEAAAAwAQAAADAyDxQqSA", "base64");
const PPS = Buffer.from("aMuDyyA=", "base64");

/** A publisher of undecodable pictures: a keyframe every `keyEvery`, of `bytes` bytes. */
export class FakeCamera {
  readonly publisher: Publisher;
  readonly keyEvery: number;
  #count = 0;

  private constructor(publisher: Publisher, keyEvery: number) {
    this.publisher = publisher;
    this.keyEvery = keyEvery;
    after(() => publisher.close());
  }

  static async open(url: string, keyEvery = 10): Promise<FakeCamera> {
    const video = { codec: "h264", sets: [SPS, PPS], width: 320, height: 240, reorders: false } as const;
    return new FakeCamera(await publishRtsp(url, { video, audio: null }), keyEvery);
  }

  /** 40 ms after the last one. */
  shoot(bytes = 1000, captureMs = Date.now()): boolean {
    const isKey = this.#count % this.keyEvery === 0;
    const slice = Buffer.alloc(bytes, this.#count & 0x7f);
    slice[0] = isKey ? 0x65 : 0x41;
    // first_mb 0, and a slice that refers to the past.
    slice[1] = isKey ? 0x88 : 0xe0;
    const timeUs = this.#count++ * 40_000;
    const parts = isKey ? [SPS, PPS, slice] : [slice];
    return this.publisher.send({ kind: "video", dtsUs: timeUs, ptsUs: timeUs, captureMs, isKey, parts });
  }
}

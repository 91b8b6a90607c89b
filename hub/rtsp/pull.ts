/**
 * Pulls a stream from the hub of another node: DESCRIBE, SETUP and PLAY, with packets interleaved in the same connection, which
 * feed a publication like those of a publisher. It ends with the stream, the connection or the publication.
 */
import { readFeedback } from "../../media/rtp/rtcp.ts";
import { RtspClient, readRtspAddress, trackUrl } from "../../media/rtsp/client.ts";
import { type Pair, readTransport } from "../../media/rtsp/headers.ts";
import { readSession } from "../../media/rtsp/publisher.ts";
import type { Publication } from "../live-stream.ts";
import { Publisher, readAnnounced } from "./to-stream.ts";

export interface PullLimits {
  readonly unitBytes: number;
  /** Time limit of each step: the connection, each response. */
  readonly stepMs: number;
  /** Without a packet for this long, the other hub is asked whether it is alive. */
  readonly silentMs: number;
}

export const PULL_LIMITS = { stepMs: 3_000, silentMs: 4_000 };
const CHECK_MS = 500;
const REPORT_MS = 5_000;
const ENDED = "the stream has ended";

interface Session {
  readonly id: string;
  readonly keepAliveMs: number;
}

export class Pull {
  /** Resolves with the reason. */
  readonly ended: Promise<string>;
  readonly #client: RtspClient;
  readonly #url: string;
  readonly #limits: PullLimits;
  #publisher: Publisher | null = null;
  #session: Session | null = null;
  #timer: NodeJS.Timeout | undefined;
  #receivedMs = performance.now();
  #requestedMs = performance.now();

  private constructor(client: RtspClient, url: string, limits: PullLimits) {
    this.#client = client;
    this.#url = url;
    this.#limits = limits;
    this.ended = client.closed;
    void this.ended.then((reason) => {
      clearInterval(this.#timer);
      this.#publisher?.close(reason);
    });
  }

  /**
   * Resolves when packets flow to what `publish` returns. Rejects with the reason; then nothing stays open.
   * @param url with a token as its password
   */
  static async open(url: string, publish: () => Publication, limits: PullLimits, signal: AbortSignal): Promise<Pull> {
    const address = readRtspAddress(url);
    let onFrame: (channel: number, packet: Uint8Array) => void = () => {};
    const client = await RtspClient.open(address, {
      ...{ stepMs: limits.stepMs, signal },
      onFrame: (channel, packet) => onFrame(channel, packet),
    });
    const pull = new Pull(client, address.url, limits);
    onFrame = (channel, packet) => pull.#handleFrame(channel, packet);
    try {
      await pull.#start(publish);
    } catch (error) {
      pull.close((error as Error).message);
      throw error;
    }
    return pull;
  }

  /** Closes the publication, too. */
  close(reason: string): void {
    const { isClosed, socket } = this.#client;
    if (isClosed) return;
    const id = this.#session?.id;
    // The response is not waited for: the other hub ends the session with the connection.
    if (id !== undefined && socket.writableLength === 0)
      this.#client.request("TEARDOWN", this.#url, { Session: id }).catch(() => {});
    setImmediate(() => this.#client.fail(reason));
  }

  async #start(publish: () => Publication): Promise<void> {
    const { body } = await this.#client.request("DESCRIBE", this.#url, { Accept: "application/sdp" });
    const announced = readAnnounced(Buffer.from(body).toString("utf8"));
    const publication = publish();
    void publication.ended.then((reason) => this.close(reason));
    const { unitBytes } = this.#limits;
    const publisher = new Publisher(announced, publication, {
      ...{ unitBytes, reportMs: REPORT_MS },
      onError: (error) => this.#client.fail(error instanceof Error ? error.message : String(error)),
    });
    this.#publisher = publisher;
    const { media, video, audio, klv } = announced;
    for (const track of [video, ...(audio === null ? [] : [audio.media]), ...(klv === null ? [] : [klv])]) {
      const index = media.indexOf(track);
      publisher.addChannels(index, await this.#setUp(index));
    }
    publisher.record();
    const { id } = this.#session as Session;
    await this.#client.request("PLAY", this.#url, { Session: id, Range: "npt=0.000-" });
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
  }

  async #setUp(index: number): Promise<Pair> {
    const proposed: Pair = [index * 2, index * 2 + 1];
    const { headers } = await this.#client.request("SETUP", trackUrl(this.#url, index), {
      Transport: `RTP/AVP/TCP;unicast;interleaved=${proposed.join("-")}`,
      ...(this.#session !== null && { Session: this.#session.id }),
    });
    this.#session ??= readSession(headers);
    const transport = readTransport(headers.get("transport") ?? "");
    if (transport?.kind !== "tcp") throw new Error("the other hub does not interleave packets");
    return transport.channels ?? proposed;
  }

  /** An error ends the connection: `RtspClient` catches it. */
  #handleFrame(channel: number, packet: Uint8Array): void {
    this.#receivedMs = performance.now();
    const isRtcp = channel % 2 === 1;
    const isBye = isRtcp && readFeedback(Buffer.from(packet.buffer, packet.byteOffset, packet.byteLength)).isBye;
    if (isBye) this.close(ENDED);
    else this.#publisher?.handleFrame(channel, packet, performance.now());
  }

  /** Keeps the session alive, and finds out when the other node is unreachable without having closed the connection. */
  #check(): void {
    const nowMs = performance.now();
    const { keepAliveMs = Number.POSITIVE_INFINITY, id = "" } = this.#session ?? {};
    const isSilent = nowMs - this.#receivedMs > this.#limits.silentMs;
    const sinceMs = nowMs - this.#requestedMs;
    if (sinceMs < keepAliveMs && !(isSilent && sinceMs > this.#limits.silentMs)) return;
    this.#requestedMs = nowMs;
    this.#client
      .request("GET_PARAMETER", this.#url, { Session: id })
      .catch((error: Error) => this.#client.fail(error.message));
  }
}

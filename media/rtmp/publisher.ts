/** Publishes a stream to an RTMP server. */

import { writeAvcConfig } from "../h264/avc-config.ts";
import { NAL, nalType } from "../h264/nal.ts";
import type { Tracks, Unit } from "../unit.ts";
import { readRtmpAddress } from "./address.ts";
import { type AmfObject, writeAmf } from "./amf0.ts";
import { type ClientOptions, RtmpClient } from "./client.ts";
import { writeAudioConfig, writeAudioFrame } from "./flv-audio.ts";
import { writePicture, writeVideoConfig } from "./flv-video.ts";
import { CHUNK_STREAM, MESSAGE } from "./message.ts";

export interface RtmpPublishOptions extends Partial<ClientOptions> {
  /** Bytes that may wait for the server to take them; units beyond are not taken. */
  readonly queueBytes?: number;
  /** A server that has taken nothing for so long is given up. */
  readonly stalledMs?: number;
}

export interface RtmpPublisher {
  /**
   * False: it was not taken, since too much is waiting, there was no key unit yet, or nobody was told of such a track. Pictures are then refused up to the
   * next key unit, without which they could not be decoded.
   */
  send(unit: Unit): boolean;
  /** Resolves with the reason when nothing can be sent any more. */
  readonly closed: Promise<string>;
  /** Says that the stream is over. Takes no longer than a step may. */
  close(): Promise<void>;
}

const DEFAULTS = { stepMs: 5000, queueBytes: 2 * 2 ** 20, stalledMs: 10_000 };

/** Rejects with the reason when the server cannot be reached, does not answer in time or refuses. */
export async function publishRtmp(
  url: string,
  tracks: Tracks,
  options: RtmpPublishOptions = {},
): Promise<RtmpPublisher> {
  const limits = { ...DEFAULTS, ...options };
  const address = readRtmpAddress(url);
  const { app, name, tcUrl } = address;
  const client = await RtmpClient.open(address, limits);
  try {
    await client.call("connect", { app, type: "nonprivate", flashVer: "FMLE/3.0 (compatible; Windhover)", tcUrl });
    client.tell(0, "releaseStream", null, name);
    client.tell(0, "FCPublish", null, name);
    const { args } = await client.call("createStream", null);
    const streamId = typeof args[0] === "number" ? args[0] : 1;
    await client.publish(streamId, name);
    return new Publisher(client, tracks, { streamId, name, ...limits });
  } catch (error) {
    client.fail("given up");
    throw error;
  }
}

interface Session {
  readonly streamId: number;
  readonly name: string;
  readonly queueBytes: number;
  readonly stalledMs: number;
}

class Publisher implements RtmpPublisher {
  readonly closed: Promise<string>;
  readonly #client: RtmpClient;
  readonly #session: Session;
  readonly #tracks: Tracks;
  #sps: Uint8Array;
  #pps: Uint8Array;
  #firstMs: number | null = null;
  #waitsForKey = true;

  constructor(client: RtmpClient, tracks: Tracks, session: Session) {
    this.#client = client;
    this.#session = session;
    this.#tracks = tracks;
    this.closed = client.closed;
    this.#sps = tracks.video.sps;
    this.#pps = tracks.video.pps;
    this.#write(CHUNK_STREAM.data, MESSAGE.data, 0, writeAmf("@setDataFrame", "onMetaData", describeTracks(tracks)));
    this.#write(CHUNK_STREAM.video, MESSAGE.video, 0, writeVideoConfig(writeAvcConfig(this.#sps, this.#pps)));
    if (tracks.audio !== null) {
      this.#write(CHUNK_STREAM.audio, MESSAGE.audio, 0, writeAudioConfig(tracks.audio.config));
    }
  }

  send(unit: Unit): boolean {
    const { queueBytes, stalledMs } = this.#session;
    if (this.#client.isClosed) return false;
    if (this.#client.stalledMs > stalledMs) {
      this.#client.fail(`the server has taken nothing for ${stalledMs / 1000} s`);
      return false;
    }
    const isVideo = unit.kind === "video";
    if (this.#waitsForKey && !(isVideo && unit.isKey)) return false;
    if (!isVideo && this.#tracks.audio === null) return false;
    const bytes = unit.parts.reduce((sum, part) => sum + part.length, 0);
    // One unit is taken however large it is: else a picture beyond the limit could never be sent.
    if (this.#client.waitingBytes > 0 && this.#client.waitingBytes + bytes > queueBytes) {
      if (isVideo) this.#waitsForKey = true;
      return false;
    }
    if (isVideo) this.#sendPicture(unit);
    else this.#sendSound(unit);
    return true;
  }

  async close(): Promise<void> {
    this.#client.tell(0, "FCUnpublish", null, this.#session.name);
    this.#client.tell(0, "deleteStream", null, this.#session.streamId);
    await this.#client.end();
  }

  #sendPicture(unit: Unit): void {
    this.#waitsForKey = false;
    const dtsMs = this.#toMs(unit.dtsUs);
    if (unit.isKey) this.#renewConfig(unit.parts, dtsMs);
    // The configuration has them.
    const nals = unit.parts.filter((nal) => nalType(nal) !== NAL.sps && nalType(nal) !== NAL.pps);
    const compositionMs = this.#toMs(unit.ptsUs) - dtsMs;
    this.#write(CHUNK_STREAM.video, MESSAGE.video, dtsMs, writePicture(nals, unit.isKey, compositionMs));
  }

  #sendSound(unit: Unit): void {
    for (const frame of unit.parts) {
      this.#write(CHUNK_STREAM.audio, MESSAGE.audio, this.#toMs(unit.dtsUs), writeAudioFrame(frame));
    }
  }

  /** The encoder may have changed its picture. */
  #renewConfig(nals: readonly Uint8Array[], timestamp: number): void {
    const sps = nals.find((nal) => nalType(nal) === NAL.sps) ?? this.#sps;
    const pps = nals.find((nal) => nalType(nal) === NAL.pps) ?? this.#pps;
    if (Buffer.compare(sps, this.#sps) === 0 && Buffer.compare(pps, this.#pps) === 0) return;
    this.#sps = sps;
    this.#pps = pps;
    this.#write(CHUNK_STREAM.video, MESSAGE.video, timestamp, writeVideoConfig(writeAvcConfig(sps, pps)));
  }

  /** From the first unit that is sent; sound that is a little older is sent as if it were not. */
  #toMs(us: number): number {
    const ms = Math.floor(us / 1000);
    this.#firstMs ??= ms;
    return Math.max(0, ms - this.#firstMs);
  }

  #write(chunkStream: number, type: number, timestamp: number, body: Uint8Array): void {
    this.#client.write({ chunkStream, type, streamId: this.#session.streamId, timestamp, body });
  }
}

function describeTracks({ video, audio }: Tracks): AmfObject {
  const sound =
    audio === null ? {} : { audiocodecid: 10, audiosamplerate: audio.sampleRate, stereo: audio.channels > 1 };
  return { width: video.width, height: video.height, videocodecid: 7, ...sound, encoder: "Windhover" };
}

/** Publishes a stream to an RTMP server. */
import type { AccessUnit, Tracks } from "../access-unit.ts";
import type { Codec } from "../codec.ts";
import { areSameSets, codecOf, findSets, isParameterSet } from "../codecs.ts";
import { describeStall, KeyframeGate, PUBLISH_DEFAULTS, type Publisher, type PublishOptions } from "../publisher.ts";
import { type AmfObject, writeAmf } from "./amf0.ts";
import { RtmpClient, type RtmpConnectOptions, readRtmpAddress } from "./client.ts";
import { videoCodecId, writeAudioConfig, writeAudioFrame, writePicture, writeVideoConfig } from "./flv.ts";
import { CHUNK_STREAM, MESSAGE } from "./message.ts";

/** Rejects with the reason if the server is unreachable, does not answer in time or rejects the stream. */
export async function publishRtmp(
  url: string,
  tracks: Tracks,
  options: PublishOptions & Pick<RtmpConnectOptions, "ca"> = {},
): Promise<Publisher> {
  const limits = { ...PUBLISH_DEFAULTS, ...options };
  const address = readRtmpAddress(url);
  const { app, name, tcUrl } = address;
  const client = await RtmpClient.open(address, limits);
  try {
    const { name: codecName, fourCc } = codecOf(tracks.video);
    // Enhanced RTMP: which codecs beyond those of FLV are sent.
    const enhanced = codecName === "h264" ? {} : { fourCcList: [fourCc] };
    const flashVer = "FMLE/3.0 (compatible; Windhover)";
    await client.call("connect", { app, type: "nonprivate", flashVer, tcUrl, ...enhanced });
    client.send(0, "releaseStream", null, name);
    client.send(0, "FCPublish", null, name);
    const { args } = await client.call("createStream", null);
    const streamId = typeof args[0] === "number" ? args[0] : 1;
    await client.publish(streamId, name);
    return new RtmpPublisher(client, tracks, { streamId, name, ...limits });
  } catch (error) {
    client.fail("publishing failed");
    throw error;
  }
}

interface Session {
  readonly streamId: number;
  readonly name: string;
  readonly queueBytes: number;
  readonly stalledMs: number;
}

class RtmpPublisher implements Publisher {
  readonly closed: Promise<string>;
  readonly #client: RtmpClient;
  readonly #session: Session;
  readonly #tracks: Tracks;
  readonly #gate: KeyframeGate;
  readonly #codec: Codec;
  #sets: readonly Uint8Array[];
  #firstMs: number | null = null;

  constructor(client: RtmpClient, tracks: Tracks, session: Session) {
    this.#client = client;
    this.#session = session;
    this.#tracks = tracks;
    this.#gate = new KeyframeGate(session.queueBytes);
    this.closed = client.closed;
    this.#codec = codecOf(tracks.video);
    this.#sets = tracks.video.sets;
    this.#write(CHUNK_STREAM.data, MESSAGE.data, 0, writeAmf("@setDataFrame", "onMetaData", describeTracks(tracks)));
    this.#write(CHUNK_STREAM.video, MESSAGE.video, 0, writeVideoConfig(this.#codec, this.#sets));
    if (tracks.audio !== null) {
      this.#write(CHUNK_STREAM.audio, MESSAGE.audio, 0, writeAudioConfig(tracks.audio.config));
    }
  }

  send(unit: AccessUnit): boolean {
    const { stalledMs } = this.#session;
    if (this.#client.isClosed) return false;
    if (this.#client.stalledMs > stalledMs) {
      this.#client.fail(describeStall(stalledMs));
      return false;
    }
    if (unit.kind === "audio" && this.#tracks.audio === null) return false;
    if (!this.#gate.accepts(unit, this.#client.queuedBytes)) return false;
    if (unit.kind === "video") this.#sendPicture(unit);
    else {
      for (const frame of unit.parts) {
        this.#write(CHUNK_STREAM.audio, MESSAGE.audio, this.#toMs(unit.dtsUs), writeAudioFrame(frame));
      }
    }
    return true;
  }

  async close(): Promise<void> {
    this.#client.send(0, "FCUnpublish", null, this.#session.name);
    this.#client.send(0, "deleteStream", null, this.#session.streamId);
    await this.#client.end();
  }

  #sendPicture(unit: AccessUnit): void {
    const dtsMs = this.#toMs(unit.dtsUs);
    if (unit.isKey) this.#updateConfig(unit.parts, dtsMs);
    const nals = unit.parts.filter((nal) => !isParameterSet(this.#codec, nal));
    const compositionMs = this.#toMs(unit.ptsUs) - dtsMs;
    this.#write(CHUNK_STREAM.video, MESSAGE.video, dtsMs, writePicture(this.#codec, nals, unit.isKey, compositionMs));
  }

  /** Sends the parameter sets again if the encoder has changed them. */
  #updateConfig(nals: readonly Uint8Array[], timestamp: number): void {
    const sets = findSets(this.#codec, nals) ?? this.#sets;
    if (areSameSets(sets, this.#sets)) return;
    this.#sets = sets;
    this.#write(CHUNK_STREAM.video, MESSAGE.video, timestamp, writeVideoConfig(this.#codec, sets));
  }

  /** Relative to the first unit sent. Slightly older audio gets time 0. */
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
  const { width, height } = video;
  return { width, height, videocodecid: videoCodecId(codecOf(video)), ...sound, encoder: "Windhover" };
}

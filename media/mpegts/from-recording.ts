/** Turns a recorded file (fragmented MP4 of the recorder) into an MPEG transport stream, with its KLV metadata. */
import { readAudioConfig } from "../aac/config.ts";
import { type AccessUnit, type AudioTrack, MediaError, type Tracks } from "../access-unit.ts";
import type { Codec } from "../codec.ts";
import { CODECS, codecOf, describeTrack, findSets, isParameterSet } from "../codecs.ts";
import { splitLengths } from "../h264/nal.ts";
import { findBox, readBoxHeader } from "../mp4/box.ts";
import { type ClipFile, readHead } from "../mp4/clip.ts";
import { type RunSamples, readRuns } from "../mp4/fragment.ts";
import { AUDIO_ID, VIDEO_ID } from "../mp4/init-segment.ts";
import { type KlvEvent, readKlvEvent } from "../mp4/klv-event.ts";
import { type MovieTrack, readTracks } from "../mp4/movie.ts";
import { TsMuxer } from "./muxer.ts";

type RecordedBytes = Pick<ClipFile, "bytes" | "read">;

/** A fragment has about a second; a damaged file could state any length. */
const MAX_BOX_BYTES = 64 * 2 ** 20;
/** Of the fields of a sample entry, before its boxes. */
const VIDEO_ENTRY_BYTES = 78;
const AUDIO_ENTRY_BYTES = 28;
const LENGTH_BYTES = 4;
const DECODER_CONFIG = 5;

interface Recorded {
  readonly tracks: Tracks;
  readonly scales: ReadonlyMap<number, number>;
}

/**
 * Whole packets, one piece per fragment, which is also what is in memory. Ends at the last whole fragment. Throws a
 * `MediaError` for a damaged file.
 */
export async function* toTransportStream(file: RecordedBytes): AsyncGenerator<Buffer> {
  const recorded = readRecorded(await readHead(file));
  const muxer = new TsMuxer(recorded.tracks);
  let hasKlv = false;
  let events: readonly KlvEvent[] = [];
  for await (const { events: found, runs, data } of listFragments(file)) {
    events = [...events, ...found];
    const [first] = events;
    if (first !== undefined && !hasKlv) {
      muxer.setTracks({ ...recorded.tracks, klv: first.carriage });
      hasKlv = true;
    }
    const units = readUnits(recorded, runs, data);
    const last = units.findLastIndex(({ kind }) => kind === "video");
    const packets = units.map((unit, index) => {
      if (unit.kind === "audio") return muxer.write(unit);
      // In their order, also where the clock of the sender was corrected backwards.
      const later = index === last ? -1 : events.findIndex(({ ptsUs }) => ptsUs > unit.ptsUs);
      const klv = later === -1 ? events : events.slice(0, later);
      events = events.slice(klv.length);
      return muxer.write({ ...unit, klv });
    });
    yield Buffer.concat(packets);
  }
}

interface RecordedFragment {
  readonly events: readonly KlvEvent[];
  readonly runs: readonly RunSamples[];
  /** `moof` and `mdat`. */
  readonly data: Buffer;
}

async function* listFragments(file: RecordedBytes): AsyncGenerator<RecordedFragment> {
  let events: KlvEvent[] = [];
  for (let at = 0; at < file.bytes; ) {
    const header = readBoxHeader(await file.read(at, 16));
    if (header === null || header.type === "mfra" || at + header.bytes > file.bytes) return;
    const { type, bytes, headerBytes } = header;
    if (type === "emsg" || type === "moof") {
      if (bytes > MAX_BOX_BYTES) throw damaged();
      const box = await file.read(at, bytes);
      const event = type === "emsg" ? readKlvEvent(box.subarray(headerBytes)) : null;
      if (event !== null) events.push(event);
      at += bytes;
      if (type === "emsg") continue;
      const media = readBoxHeader(await file.read(at, 16));
      if (media === null || media.type !== "mdat" || at + media.bytes > file.bytes) return;
      if (media.bytes > MAX_BOX_BYTES) throw damaged();
      const data = Buffer.concat([box, await file.read(at, media.bytes)]);
      yield { events, runs: readRuns(box.subarray(headerBytes)), data };
      events = [];
      at += media.bytes;
    } else at += bytes;
  }
}

/** In decoding order. */
function readUnits({ tracks, scales }: Recorded, runs: readonly RunSamples[], data: Buffer): AccessUnit[] {
  const codec = codecOf(tracks.video);
  const units = runs.flatMap(({ trackId, time, position, samples }): AccessUnit[] => {
    const scale = scales.get(trackId);
    const isVideo = trackId === VIDEO_ID;
    if (scale === undefined || (!isVideo && (trackId !== AUDIO_ID || tracks.audio === null))) return [];
    let [ticks, from] = [time, position];
    return samples.map(({ duration, offset, bytes, isKey }) => {
      if (from + bytes > data.length) throw damaged();
      const sample = data.subarray(from, from + bytes);
      const [dtsUs, ptsUs] = [(ticks * 1e6) / scale, ((ticks + offset) * 1e6) / scale];
      ticks += duration;
      from += bytes;
      const times = { dtsUs, ptsUs, captureMs: 0 };
      if (!isVideo) return { kind: "audio", ...times, isKey: true, parts: [sample] };
      const nals = splitLengths(sample, LENGTH_BYTES);
      return { kind: "video", ...times, isKey, parts: isKey ? addSets(codec, tracks.video.sets, nals) : nals };
    });
  });
  return units.sort((a, b) => a.dtsUs - b.dtsUs);
}

/** The recorder leaves out those that the file has in its header. */
function addSets(codec: Codec, sets: readonly Uint8Array[], nals: readonly Uint8Array[]): readonly Uint8Array[] {
  const own = nals.filter((nal) => isParameterSet(codec, nal));
  const isOwn = (set: Uint8Array): boolean => own.some((nal) => Buffer.compare(nal, set) === 0);
  return [...sets.filter((set) => !isOwn(set)), ...own, ...nals.filter((nal) => !own.includes(nal))];
}

function readRecorded(head: Buffer): Recorded {
  const moov = findBox(head, "moov");
  const found = moov === null ? [] : readTracks(moov);
  const [video, audio] = [VIDEO_ID, AUDIO_ID].map((id) => found.find((track) => track.id === id));
  if (video === undefined) throw damaged();
  return {
    tracks: { video: readVideo(video), audio: audio === undefined ? null : readAudio(audio) },
    scales: new Map(found.map(({ id, scale }) => [id, scale])),
  };
}

function readVideo({ entry }: MovieTrack): Tracks["video"] {
  const codec = Object.values(CODECS).find(({ fourCc }) => fourCc === entry.toString("latin1", 4, 8));
  const config = codec && findBox(entry.subarray(8 + VIDEO_ENTRY_BYTES), codec.configBox);
  const sets = codec && config ? findSets(codec, codec.readConfig(config).parameterSets) : null;
  if (codec === undefined || sets === null) throw damaged();
  return describeTrack(codec, sets);
}

function readAudio({ entry }: MovieTrack): AudioTrack | null {
  const esds = findBox(entry.subarray(8 + AUDIO_ENTRY_BYTES), "esds");
  const config = esds === null ? null : findDecoderConfig(esds);
  return config === null ? null : { codec: "aac", config, ...readAudioConfig(config) };
}

/** As the recorder writes it: lengths have four bytes. */
function findDecoderConfig(esds: Buffer): Buffer | null {
  const at = esds.indexOf(Buffer.from([DECODER_CONFIG, 0x80, 0x80]));
  if (at < 0 || at + 5 > esds.length) return null;
  const length = (((esds[at + 3] as number) & 0x7f) << 7) | (esds[at + 4] as number);
  return esds.subarray(at + 5, at + 5 + length);
}

const damaged = (): MediaError => new MediaError("the recorded file is damaged");

/**
 * The init segment of a fragmented MP4: `ftyp` and a `moov` without samples (ISO/IEC 14496-12, 8.8), for one video
 * and optionally AAC. `mvhd` and `mehd` reserve room for the duration, which is written when the file is finished.
 */
import type { AudioTrack, Tracks, VideoTrack } from "../access-unit.ts";
import { codecOf } from "../codecs.ts";
import { u16, u32, writeBox, writeFullBox } from "./box.ts";

export const VIDEO_ID = 1;
export const AUDIO_ID = 2;
/** Timescale of the video track, the same as RTP's: timestamps received by RTP stay exact. */
export const VIDEO_SCALE = 90_000;
/** Timescale of the audio track: one tick per sample. */
export const audioScale = (track: AudioTrack): number => track.sampleRate;

export const toTicks = (us: number, scale: number): number => Math.round((us * scale) / 1e6);
export const toUs = (ticks: number, scale: number): number => Math.round((ticks * 1e6) / scale);

/** Timescale of the movie: milliseconds. */
const MOVIE_SCALE = 1000;
const MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);
/** The language "und": three letters minus 0x60 in 5 bits each. */
const UNDETERMINED = 0x55c4;
const ENABLED_IN_MOVIE = 3;
/** Sample flags (8.8.3.1): depends on other samples, and sync sample. */
export const PREDICTED_SAMPLE = 0x01010000;
export const KEY_SAMPLE = 0x02000000;

export function writeInitSegment({ video, audio }: Tracks): Buffer {
  const traks = [writeVideo(video), ...(audio === null ? [] : [writeAudio(audio)])];
  const defaults = [
    writeDefaults(VIDEO_ID, PREDICTED_SAMPLE),
    ...(audio === null ? [] : [writeDefaults(AUDIO_ID, KEY_SAMPLE)]),
  ];
  const brands = ["iso6", "iso6", "mp41", "cmfc"].map((brand) => Buffer.from(brand, "latin1"));
  const [major = Buffer.of(), ...compatible] = brands;
  return Buffer.concat([
    writeBox("ftyp", major, u32(0), ...compatible),
    writeBox("moov", writeMovieHeader(), ...traks, writeBox("mvex", writeFullBox("mehd", 0, 0, u32(0)), ...defaults)),
  ]);
}

export const writeMovieHeader = (): Buffer =>
  writeFullBox(
    "mvhd",
    0,
    0,
    u32(0, 0, MOVIE_SCALE, 0, 0x10000),
    u16(0x100, 0),
    u32(0, 0),
    MATRIX,
    u32(0, 0, 0, 0, 0, 0, AUDIO_ID + 1),
  );

const writeDefaults = (id: number, flags: number) => writeFullBox("trex", 0, 0, u32(id, 1, 0, 0, flags));

function writeVideo(track: VideoTrack): Buffer {
  const { width, height, sets } = track;
  const codec = codecOf(track);
  const entry = writeBox(
    codec.fourCc,
    u32(0),
    u16(0, 1),
    u32(0, 0, 0, 0),
    u16(width, height),
    u32(0x480000, 0x480000, 0),
    u16(1),
    new Uint8Array(32),
    u16(0x18, 0xffff),
    writeBox(codec.configBox, codec.writeConfig(sets)),
  );
  return writeTrack(
    VIDEO_ID,
    [width, height],
    0,
    VIDEO_SCALE,
    "vide",
    writeFullBox("vmhd", 0, 1, u16(0, 0, 0, 0)),
    entry,
  );
}

function writeAudio(track: AudioTrack): Buffer {
  // The field has 16 bits; higher rates are only in the AudioSpecificConfig.
  const rate = track.sampleRate < 2 ** 16 ? track.sampleRate : 0;
  const entry = writeBox(
    "mp4a",
    u32(0),
    u16(0, 1),
    u32(0, 0),
    u16(track.channels, 16, 0, 0, rate, 0),
    writeFullBox("esds", 0, 0, writeElementaryStream(track.config)),
  );
  return writeTrack(AUDIO_ID, [0, 0], 0x100, audioScale(track), "soun", writeFullBox("smhd", 0, 0, u16(0, 0)), entry);
}

/** ISO/IEC 14496-1, 7.2.6: ES_Descriptor { DecoderConfigDescriptor { DecoderSpecificInfo }, SLConfigDescriptor }. */
function writeElementaryStream(config: Uint8Array): Buffer {
  const AAC = 0x40;
  const AUDIO_STREAM = 0x15;
  const decoder = writeDescriptor(4, [AAC, AUDIO_STREAM, 0, 0, 0], u32(0, 0), writeDescriptor(5, config));
  return writeDescriptor(3, u16(AUDIO_ID), [0], decoder, writeDescriptor(6, [2]));
}

function writeDescriptor(tag: number, ...content: readonly (Uint8Array | readonly number[])[]): Buffer {
  const body = Buffer.concat(content.map((piece) => Uint8Array.from(piece)));
  const [high, low] = [body.length >> 7, body.length & 0x7f];
  return Buffer.concat([Uint8Array.of(tag, 0x80, 0x80, 0x80 | high, low), body]);
}

/** A `trak` without samples. `matrix`: how the frame is turned. */
export function writeTrack(
  id: number,
  [width, height]: readonly [number, number],
  volume: number,
  scale: number,
  handler: "vide" | "soun",
  mediaHeader: Buffer,
  entry: Buffer,
  matrix: Uint8Array = MATRIX,
): Buffer {
  const header = writeFullBox(
    "tkhd",
    0,
    ENABLED_IN_MOVIE,
    u32(0, 0, id, 0, 0, 0, 0),
    u16(0, 0, volume, 0),
    matrix,
    u32(width * 2 ** 16, height * 2 ** 16),
  );
  const samples = writeBox(
    "stbl",
    writeFullBox("stsd", 0, 0, u32(1), entry),
    writeFullBox("stts", 0, 0, u32(0)),
    writeFullBox("stsc", 0, 0, u32(0)),
    writeFullBox("stsz", 0, 0, u32(0, 0)),
    writeFullBox("stco", 0, 0, u32(0)),
  );
  const here = writeBox("dinf", writeFullBox("dref", 0, 0, u32(1), writeFullBox("url ", 0, 1)));
  const media = writeBox(
    "mdia",
    writeFullBox("mdhd", 0, 0, u32(0, 0, scale, 0), u16(UNDETERMINED, 0)),
    writeFullBox("hdlr", 0, 0, u32(0), Buffer.from(handler, "latin1"), u32(0, 0, 0), [0]),
    writeBox("minf", mediaHeader, here, samples),
  );
  return writeBox("trak", header, media);
}

/** Offset of the duration from the start of its box, for version 0. */
const DURATION_OFFSETS = [
  ["mvhd", 24],
  ["mehd", 12],
] as const;

/** Returns the bytes that set the duration of a finished file. `init`: the init segment that the file starts with. */
export function patchDuration(init: Buffer, durationMs: number): { readonly at: number; readonly bytes: Buffer }[] {
  return DURATION_OFFSETS.map(([type, offset]) => ({
    at: init.indexOf(type, 0, "latin1") - 4 + offset,
    bytes: u32(Math.min(Math.ceil(durationMs), 2 ** 32 - 1)),
  }));
}

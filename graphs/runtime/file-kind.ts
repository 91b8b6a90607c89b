/** What a file is, by its first bytes: a container that may be uploaded, or something that is not a video. */
import { closeSync, openSync, readSync } from "node:fs";
import type { VideoFacts } from "../../schemas/probe.ts";

type Container = VideoFacts["container"];

/** Signatures (as Latin-1) of files that people mistake for videos. */
const MAGIC: readonly (readonly [start: string | RegExp, what: string])[] = [
  ["%PDF-", "a PDF document"],
  ["PK\x03\x04", "a ZIP archive (or an office document)"],
  ["\x1f\x8b", "a gzip archive"],
  ["7z\xbc\xaf", "a 7z archive"],
  ["\x7fELF", "a program"],
  ["SQLite format 3", "an SQLite database"],
  ["ID3", "an MP3 sound file"],
  [/^\xff[\xfb\xf3\xf2]/, "an MP3 sound file"],
  [/^RIFF....WAVE/s, "a WAV sound file"],
  ["fLaC", "a FLAC sound file"],
  ["version https://git-lfs", "a Git LFS pointer: fetch the file itself with `git lfs pull`"],
  [/^\s*<(?:!doctype html|html)/i, "a web page"],
  [/^\s*<\?xml/i, "an XML document"],
];

/** The kind of a file that is not a video; null when unknown or unreadable. */
export function recogniseFile(path: string): string | null {
  let start: string;
  try {
    start = readStart(path, 512);
  } catch {
    return null;
  }
  const magic = MAGIC.find(([mark]) => (typeof mark === "string" ? start.startsWith(mark) : mark.test(start)));
  if (magic !== undefined) return magic[1];
  return /^[\t\n\r\x20-\x7e\x80-\xff]+$/.test(start) && /[a-z]{2}/i.test(start) ? "a text file" : null;
}

/** First boxes of old QuickTime files, which lack `ftyp`. */
const OLD_BOXES = new Set(["moov", "mdat", "wide", "free", "skip", "pnot"]);

/** A file is played with the demuxer it was probed with, so that an ambiguous file has one interpretation. */
export const DEMUXERS: Readonly<Record<Container, string>> = {
  mp4: "qtdemux",
  mov: "qtdemux",
  avi: "avidemux",
  ts: "tsdemux",
  mkv: "matroskademux",
  webm: "matroskademux",
};

/** The template of a demuxer's pads with video. */
export const VIDEO_PADS: Readonly<Record<Container, string>> = {
  mp4: "video_%u",
  mov: "video_%u",
  avi: "video_%u",
  ts: "video_%01x_%05x",
  mkv: "video_%u",
  webm: "video_%u",
};

/** Null for other files, whatever their name. Throws when the file cannot be read. */
export function findContainer(file: string): Container | null {
  const start = readStart(file, 5 * TS_PACKET_BYTES);
  if (isTransportStream(start)) return "ts";
  if (start.startsWith(EBML)) return start.slice(0, EBML_HEADER_BYTES).includes("webm") ? "webm" : "mkv";
  if (start.startsWith("RIFF") && start.slice(8, 11) === "AVI") return "avi";
  const box = start.slice(4, 8);
  if (box === "ftyp") return start.slice(8, 12) === "qt  " ? "mov" : "mp4";
  return OLD_BOXES.has(box) ? "mov" : null;
}

/** Of Matroska, and of WebM, which its header names. */
const EBML = "\x1a\x45\xdf\xa3";
const EBML_HEADER_BYTES = 64;

const TS_PACKET_BYTES = 188;
const TS_SYNC = "G";
/** Of a file that is shorter than five packets: all of it. */
const LEAST_PACKETS = 3;

/** Packets of 188 bytes from the beginning, each with its sync byte. */
function isTransportStream(start: string): boolean {
  const packets = Math.floor(start.length / TS_PACKET_BYTES);
  if (packets < LEAST_PACKETS) return false;
  return Array.from({ length: packets }, (_, index) => start[index * TS_PACKET_BYTES]).every(
    (byte) => byte === TS_SYNC,
  );
}

function readStart(file: string, size: number): string {
  const descriptor = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(size);
    return bytes.toString("latin1", 0, readSync(descriptor, bytes, 0, size, 0));
  } finally {
    closeSync(descriptor);
  }
}

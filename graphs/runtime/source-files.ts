/** The files that a graph reads, and what they are when they are no videos. */
import { closeSync, openSync, readSync } from "node:fs";
import type { GraphPlan } from "../compiler/plan.ts";

export function listSourceFiles(plan: GraphPlan): readonly string[] {
  const nodes = [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
  return nodes
    .filter((node) => node.factory === "filesrc")
    .flatMap((node) => (typeof node.properties.location === "string" ? [node.properties.location] : []));
}

/** First bytes, as Latin-1, that say what a file is: for those that people take for videos. */
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

const SNIFFED_BYTES = 512;

/** What a file is judging by its first bytes; null when they say nothing. */
export function recogniseFile(path: string): string | null {
  try {
    const descriptor = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(SNIFFED_BYTES);
      const start = bytes.toString("latin1", 0, readSync(descriptor, bytes, 0, SNIFFED_BYTES, 0));
      const magic = MAGIC.find(([mark]) => (typeof mark === "string" ? start.startsWith(mark) : mark.test(start)));
      if (magic !== undefined) return magic[1];
      return /^[\t\n\r\x20-\x7e\x80-\xff]+$/.test(start) && /[a-z]{2}/i.test(start) ? "a text file" : null;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null;
  }
}

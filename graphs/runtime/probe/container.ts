/** Which of the containers that may be uploaded a file is, by its first bytes. */
import { closeSync, openSync, readSync } from "node:fs";
import type { VideoFacts } from "../../../schemas/probe.ts";

const SNIFFED_BYTES = 12;
/** What a QuickTime file without `ftyp`, as old ones are, begins with. */
const OLD_BOXES = new Set(["moov", "mdat", "wide", "free", "skip", "pnot"]);

/** What plays a file is what it was probed with: a file that could be taken for two things is never taken for the other. */
export const DEMUXERS: Readonly<Record<VideoFacts["container"], string>> = {
  mp4: "qtdemux",
  mov: "qtdemux",
  avi: "avidemux",
};

/** Null when it is none of them, whatever it is called. Throws when it cannot be read. */
export function findContainer(file: string): VideoFacts["container"] | null {
  const descriptor = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(SNIFFED_BYTES);
    return judgeStart(bytes.toString("latin1", 0, readSync(descriptor, bytes, 0, SNIFFED_BYTES, 0)));
  } finally {
    closeSync(descriptor);
  }
}

function judgeStart(start: string): VideoFacts["container"] | null {
  if (start.startsWith("RIFF") && start.slice(8, 11) === "AVI") return "avi";
  const box = start.slice(4, 8);
  if (box === "ftyp") return start.slice(8, 12) === "qt  " ? "mov" : "mp4";
  return OLD_BOXES.has(box) ? "mov" : null;
}

/** Which of the containers that may be uploaded a file is, by its first bytes. */
import { open } from "node:fs/promises";
import type { VideoFacts } from "../../../schemas/probe.ts";

const SNIFFED_BYTES = 12;
/** What a QuickTime file without `ftyp`, as old ones are, begins with. */
const OLD_BOXES = new Set(["moov", "mdat", "wide", "free", "skip", "pnot"]);

/** Null when it is none of them, whatever it is called. */
export async function findContainer(file: string): Promise<VideoFacts["container"] | null> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0);
    return judgeStart(buffer.toString("latin1", 0, bytesRead));
  } finally {
    await handle.close();
  }
}

function judgeStart(start: string): VideoFacts["container"] | null {
  if (start.startsWith("RIFF") && start.slice(8, 11) === "AVI") return "avi";
  const box = start.slice(4, 8);
  if (box === "ftyp") return start.slice(8, 12) === "qt  " ? "mov" : "mp4";
  return OLD_BOXES.has(box) ? "mov" : null;
}

/**
 * Any video as a byte stream of H.264 (annex B): one key picture a second, no picture out of order, a delimiter before
 * each, so that it can be published over and over as it is.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { writeAtomically } from "../models/files.ts";

export const FRAMES_A_SECOND = 10;

const LIMIT_MS = 10 * 60_000;
const SHOWN_CHARACTERS = 600;

/** The files are given as open ones: their names can never become a part of the pipeline. */
const PIPELINE = [
  ...["filesrc", "location=/dev/fd/3", "!", "decodebin", "!", "videoconvert", "!", "videorate", "!"],
  ...[`video/x-raw,format=I420,framerate=${FRAMES_A_SECOND}/1`, "!"],
  ...["x264enc", "tune=zerolatency", "speed-preset=ultrafast", "pass=qual", "quantizer=24"],
  ...[`key-int-max=${FRAMES_A_SECOND}`, "byte-stream=true", "aud=true", "!"],
  ...["h264parse", "config-interval=-1", "!", "video/x-h264,stream-format=byte-stream,alignment=au", "!"],
  ...["fdsink", "fd=1"],
];

/** Throws an Error whose message is the reason; nothing is left then. */
export async function convertClip(from: string, to: string): Promise<void> {
  const source = await open(from);
  try {
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "gst-launch-1.0", "-q", ...PIPELINE], {
      stdio: ["ignore", "pipe", "pipe", source.fd],
      signal: AbortSignal.timeout(LIMIT_MS),
      killSignal: "SIGKILL",
    });
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(0, SHOWN_CHARACTERS);
    });
    const ended = once(child, "close") as Promise<[number | null, string | null]>;
    ended.catch(() => {});
    try {
      await writeAtomically(
        to,
        readAll(child.stdout as unknown as Readable, ended, () => said),
      );
    } finally {
      child.kill("SIGKILL");
    }
  } finally {
    await source.close();
  }
}

/** Ends well only where the program did: a part of a clip is none. */
async function* readAll(
  output: Readable,
  ended: Promise<[number | null, string | null]>,
  said: () => string,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const piece of output) {
    bytes += (piece as Uint8Array).length;
    yield piece as Uint8Array;
  }
  const [code, signal] = await ended;
  if (code === 0 && bytes > 0) return;
  const end = code === 0 ? "made nothing of it" : code === null ? `was ended by ${signal}` : `ended with code ${code}`;
  throw new Error(`gst-launch-1.0 ${end}${said() === "" ? "" : `: ${said().trim()}`}`);
}

/** gst-launch as a player of RTSP. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Not a measurement: only turns a hang into a failure. */
const LIMIT_S = 60;
/** With `-v` it prints a line for every buffer. */
const MAX_OUTPUT = 2 ** 24;

/**
 * A pipeline that ends is stopped at once: the CLOSE of rtspsrc (GStreamer 1.22) then interrupts the PAUSE that it is just
 * sending, and it reports that as "end-of-file", about once in fifty players. The connection is open: its TEARDOWN follows,
 * and is answered.
 */
const failureOf = (call: string) =>
  `ERROR: from element [^\n]+: Could not write to resource\\.\nAdditional debug info:\n[^\n]+ ${call} \\(\\): [^\n]+\nCould not send message\\. \\(Received end-of-file\\)\n`;
const INTERRUPTED_PAUSE = new RegExp(failureOf("gst_rtspsrc_try_send") + failureOf("gst_rtspsrc_pause"));

/** What gst-launch has printed, without the errors of an interrupted PAUSE. */
export const omitInterruptedPause = (output: string): string => output.replace(INTERRUPTED_PAUSE, "");

/** Runs it to its end. Resolves with its standard output, and rejects when it fails. */
export async function playWithGst(words: readonly string[]): Promise<string> {
  const args = [String(LIMIT_S), "gst-launch-1.0", ...words];
  try {
    return (await run("timeout", args, { maxBuffer: MAX_OUTPUT })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    if (stderr !== "" && omitInterruptedPause(stderr) === "") return stdout;
    throw error;
  }
}

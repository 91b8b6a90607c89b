/** The command in this process, what it says kept apart; and recordings made up for it. */
import { Writable } from "node:stream";
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import { CommandFailure, readArguments, UsageFault } from "../command.ts";
import replay from "../commands/replay.ts";
import { Terminal } from "../terminal.ts";
import { NO_UUID } from "./sending.ts";

class Kept extends Writable {
  text = "";
  readonly isTTY: boolean;

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  override _write(chunk: Buffer, _: string, taken: () => void): void {
    this.text += chunk.toString();
    taken();
  }
}

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Of standard output, as JSON. */
  readonly lines: readonly ReplayLine[];
}

export interface ReplayLine {
  readonly clip_seconds: number;
  readonly alert?: string;
  readonly subscription?: string;
  readonly to: readonly object[];
  readonly body: Readonly<Record<string, unknown>> & { readonly tracks: readonly TrackEntry[] };
}

/** As `main` would: faults become what is said and an exit code. */
export async function runCommand(words: readonly string[], isScreen = false): Promise<Said> {
  const [out, err] = [new Kept(isScreen), new Kept(false)];
  const terminal = new Terminal(out, err, { NO_COLOR: "1" });
  if (words.includes("--json")) terminal.speakJson();
  let code: number;
  try {
    code = await replay.run(readArguments(replay, words), terminal);
  } catch (error) {
    if (!(error instanceof UsageFault || error instanceof CommandFailure)) throw error;
    terminal.say(error.message);
    code = error instanceof UsageFault ? 2 : 1;
  }
  const lines = isScreen
    ? []
    : out.text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
  return { code, out: out.text, err: err.text, lines };
}

export const WIDTH = 640;
export const HEIGHT = 360;

/** A box of a tenth of the picture's width and a fifth of its height, its foot in the middle at these fractions. */
export function entryAt(id: number, x: number, y: number, more: Partial<TrackEntry> = {}): TrackEntry {
  const scaled: TrackEntry["scaled_bbox"] = [round(x - 0.05), round(y - 0.2), 0.1, 0.2];
  const [left, top, width, height] = scaled;
  return {
    track_id: id,
    class_id: 0,
    class_name: "person",
    bbox: [left * WIDTH, top * HEIGHT, width * WIDTH, height * HEIGHT],
    scaled_bbox: scaled,
    confidence: 80,
    ...more,
  };
}

const round = (value: number): number => Math.round(value * 1e6) / 1e6;

export const messageAt = (timeMs: number, entries: readonly TrackEntry[]): DetectionMessage => ({
  timestamp: new Date(timeMs).toISOString(),
  source_uri: "clip.mp4",
  process_uuid: NO_UUID,
  active_tracks: [...entries],
});

export const START_MS = Date.parse("2026-11-14T09:00:00.000Z");

/** Ten seconds: one walks across the picture from left to right, and a second one comes after three seconds and stays. */
export const walk = (): readonly DetectionMessage[] =>
  Array.from({ length: 100 }, (_, index) =>
    messageAt(START_MS + index * 100, [
      entryAt(1, 0.1 + index * 0.008, 0.6),
      ...(index < 30 ? [] : [entryAt(2, 0.7, 0.9)]),
    ]),
  );

export const toLines = (values: readonly object[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

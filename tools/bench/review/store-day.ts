/** A day of one stream in files of stored detections: real detections of a clip, one after the other, at their own rate. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import type { DetectionMessage } from "../../../schemas/detection-message.ts";
import { Semaphore } from "../../../server/async/semaphore.ts";
import { DetectionWriter, LIMITS } from "../../../server/detections/detection-writer.ts";
import { LocalFile, readMessages } from "../../../server/detections/read-file.ts";

export const DAY_MS = 86_400_000;
const SEGMENT_MS = 600_000;

export interface StoredDay {
  readonly bytes: number;
  readonly messages: number;
  readonly objects: number;
  readonly tracks: number;
  /** Of writing, for one message. */
  readonly writeMicroseconds: number;
  /** To read a minute out of the middle. */
  readonly minuteMs: number;
}

/** `seen`: of one clip, in order. Its objects are others each time. */
export async function storeDay(folder: string, seen: readonly DetectionMessage[], beganMs: number): Promise<StoredDay> {
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined) throw new Error("there are no detections");
  const firstMs = Date.parse(first.timestamp);
  const clipMs = Date.parse(last.timestamp) - firstMs + (Date.parse(last.timestamp) - firstMs) / seen.length;
  const ids = Math.max(1, ...seen.flatMap(({ active_tracks }) => active_tracks.map(({ track_id }) => track_id)));
  let [nowMs, flushedMs, files, writtenMs] = [0, 0, 0, 0];
  const numbers = { written: 0, lost: 0, bytes: 0 };
  const writer = new DetectionWriter({
    ...{ processUuid: first.process_uuid, log: pino({ level: "silent" }), isAllowed: () => true, numbers },
    ...{ segmentMs: SEGMENT_MS, slots: new Semaphore(1), videoStartMs: () => null, now: () => nowMs },
    nextFile: async () => join(folder, `${String(files++).padStart(4, "0")}.ndjson.gz`),
    // Flushed below, by the time of the messages.
    limits: { flushMs: DAY_MS, flushBytes: 1e9, queuedBytes: 1e9 },
  });
  let objects = 0;
  for (let turn = 0; turn * clipMs < DAY_MS; turn += 1) {
    for (const message of seen) {
      nowMs = turn * clipMs + Date.parse(message.timestamp) - firstMs;
      if (nowMs >= DAY_MS) break;
      const active_tracks = message.active_tracks.map((track) => ({ ...track, track_id: track.track_id + turn * ids }));
      objects += active_tracks.length;
      const startedMs = performance.now();
      writer.add({ ...message, active_tracks, timestamp: new Date(Math.round(beganMs + nowMs)).toISOString() });
      if (nowMs - flushedMs >= LIMITS.flushMs) {
        flushedMs = nowMs;
        await writer.flush();
      }
      writtenMs += performance.now() - startedMs;
    }
  }
  writer.endFile();
  await writer.flush();
  const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
  const tracks =
    Math.ceil(DAY_MS / clipMs) *
    new Set(seen.flatMap(({ active_tracks }) => active_tracks.map(({ track_id }) => track_id))).size;
  return {
    ...{ bytes: sizes.reduce((sum, size) => sum + size, 0), messages: numbers.written, objects, tracks },
    ...{
      writeMicroseconds: (writtenMs * 1000) / numbers.written,
      minuteMs: await readMinute(folder, beganMs + DAY_MS / 2),
    },
  };
}

async function readMinute(folder: string, fromMs: number): Promise<number> {
  const startedMs = performance.now();
  let count = 0;
  for (const name of (await readdir(folder)).sort()) {
    const file = await LocalFile.open(join(folder, name));
    const range = { fromMs, toMs: fromMs + 60_000 };
    const onDamaged = (error: Error): never => {
      throw error;
    };
    for await (const _ of readMessages(file, { range, onDamaged })) count += 1;
    await file.close();
  }
  if (count === 0) throw new Error("nothing is stored in the middle of the day");
  return performance.now() - startedMs;
}

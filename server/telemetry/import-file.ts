/**
 * An uploaded telemetry file → samples that can be stored. Files are read in small steps, so that a large or hostile one does
 * not delay other requests; one at a time.
 */
import { setImmediate as yieldTurn } from "node:timers/promises";
import { TELEMETRY_FILE_FORMATS } from "../../schemas/api/sources.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { type FileReading, TelemetryFault } from "../../telemetry/format.ts";
import { type FileFormatName, readTelemetryFile, recogniseFormat } from "../../telemetry/formats.ts";
import { Semaphore } from "../async/semaphore.ts";
import { invalidInput, type ServiceError } from "../service-error.ts";
import type { NewTelemetry } from "../store/source-telemetry.ts";
import { estimateOffset, type VideoTimes } from "./estimate-offset.ts";
import { MAX_SAMPLES, SampleWriter } from "./stored-samples.ts";

/** Largest telemetry file: half an hour of subtitles for 60 frames per second. */
export const MAX_FILE_BYTES = 64 * 2 ** 20;
/** Longest step before other work gets a turn. */
const STEP_MS = 10;
const CHECK_EVERY = 64;

const slots = new Semaphore(1);

export interface TelemetryUpload {
  readonly bytes: Buffer;
  readonly name: string;
  /** Null: recognised by its first bytes. */
  readonly format: FileFormatName | null;
  readonly parameters: JsonRecord;
  /** Where in the video its first sample belongs; null: estimated. */
  readonly offsetSeconds: number | null;
  /** Names of the parts of the form, for errors. */
  readonly part: string;
}

/** Rejects with `invalid_input` if it is not a file of the format, or has no usable sample. */
export async function importTelemetry(
  upload: TelemetryUpload,
  video: VideoTimes,
  signal: AbortSignal,
): Promise<NewTelemetry> {
  const { bytes, name, parameters, offsetSeconds, part } = upload;
  const release = await slots.acquire(signal);
  try {
    const format = upload.format ?? recogniseFormat(bytes);
    const collected = await collect(readTelemetryFile(format, bytes, parameters), signal);
    const { writer, times, lack } = collected;
    const givenMs = offsetSeconds === null ? null : offsetSeconds * 1000;
    const { offsetMs, errorMs, method } = estimateOffset(times, video, givenMs);
    return {
      ...{ format, fileName: name, samples: writer.count, firstMs: times.firstMs, lastMs: times.lastMs, lack },
      ...{ offsetMs, offsetErrorMs: errorMs, offsetMethod: method, content: await writer.finish() },
    };
  } catch (error) {
    if (!(error instanceof TelemetryFault)) throw error;
    throw invalidFile(part, error);
  } finally {
    release();
  }
}

/** Also for samples that were found in the video. Throws `TelemetryFault` if there is none. */
export async function collect(readings: Iterable<FileReading | null>, signal: AbortSignal) {
  const writer = new SampleWriter();
  let lack: string | null = null;
  let isVideoTime = true;
  let errorMs = 0;
  const recordings = new Recordings();
  let [firstMs, lastMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let count = 0;
  let turnMs = performance.now();
  for (const reading of readings) {
    count += 1;
    if (count % CHECK_EVERY === 0 && performance.now() - turnMs > STEP_MS) {
      await yieldTurn();
      if (signal.aborted) throw new TelemetryFault("The request was aborted.");
      turnMs = performance.now();
    }
    const timeMs = reading?.videoMs ?? reading?.sample.timeMs ?? null;
    if (reading === null || timeMs === null || isEmpty(reading)) continue;
    if (writer.isFull) throw new TelemetryFault(`Expected up to ${MAX_SAMPLES} samples; this file has more.`);
    writer.add(timeMs, reading.sample);
    isVideoTime &&= reading.videoMs !== undefined;
    errorMs += reading.videoErrorMs ?? 0;
    recordings.note(timeMs, reading.isRecording);
    firstMs = Math.min(firstMs, timeMs);
    lastMs = Math.max(lastMs, timeMs);
    lack = reading.lack;
  }
  if (writer.count === 0)
    throw new TelemetryFault(
      "The file has no telemetry that can be used: neither a position nor an attitude with its time.",
    );
  const times = {
    firstMs,
    lastMs,
    videoErrorMs: isVideoTime ? errorMs / writer.count : null,
    recordings: recordings.spans,
  };
  return { writer, times, lack };
}

const MAX_RECORDINGS = 1000;

/** When the camera recorded. One that ran when the file began has no known start. */
class Recordings {
  readonly spans: { fromMs: number; toMs: number; stepMs: number }[] = [];
  #isOn: boolean | null = null;
  #beforeMs = 0;

  note(timeMs: number, isOn: boolean | undefined): void {
    const last = this.spans.at(-1);
    if (isOn === true && this.#isOn === false && this.spans.length < MAX_RECORDINGS)
      this.spans.push({ fromMs: timeMs, toMs: timeMs, stepMs: Math.max(0, timeMs - this.#beforeMs) });
    else if (isOn === true && this.#isOn === true && last !== undefined) last.toMs = timeMs;
    this.#isOn = isOn ?? this.#isOn;
    this.#beforeMs = timeMs;
  }
}

const isEmpty = ({ sample }: FileReading): boolean =>
  sample.position === null && sample.attitude === null && sample.hfov === null;

export const invalidFile = (part: string, fault: TelemetryFault): ServiceError =>
  invalidInput([
    { path: part, message: fault.message },
    ...fault.faults.map(({ path, message }) => ({ path: `${part}${path}`, message })),
  ]);

/** Throws `invalid_input` for another name. */
export function readFormatName(text: string | undefined, path: string): FileFormatName | null {
  if (text === undefined || text === "") return null;
  const known = TELEMETRY_FILE_FORMATS.find((name) => name === text);
  if (known !== undefined) return known;
  const message = `is ${JSON.stringify(text.slice(0, 60))}; expected one of ${TELEMETRY_FILE_FORMATS.join(", ")}`;
  throw invalidInput([{ path, message }]);
}

/**
 * Detection messages as short lines of JSON, which `read-lines.ts` reads. Numbers are rounded to integers of a stated unit,
 * those of an object are differences to its previous line, and they are written as letters, which gzip makes smaller still.
 * `docs/stored-detections.md` describes the format. A message that does not fit it is written as it is.
 */
import type { CameraMessage } from "../../schemas/camera-message.ts";
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import { MAX_NUMBER, writeNumber } from "./numbers.ts";
import {
  BASE,
  CONFIDENCE,
  describeObjects,
  ESTIMATED,
  FRACTION,
  LastValues,
  type Numbers,
  readOptional,
  toParts,
} from "./object-numbers.ts";
import type { PartHeader } from "./object-reader.ts";

export const FORMAT_VERSION = 2;

/** Of a box in pixels and in fractions: both are rounded by themselves. */
const MAX_DEVIATION_PX = 0.02;
const REQUIRED_KEYS = 6;
const MESSAGE_KEYS = 4;
/** More than any model has; then a message is written as it is. */
const MAX_CLASSES = 10_000;

interface Size {
  readonly width: number;
  readonly height: number;
}

const NO_SIZE: Size = { width: 0, height: 0 };

export interface LineOptions {
  readonly process: string;
  readonly source: string;
  readonly videoStartMs: number | null;
}

/** Whatever was learnt from earlier parts. */
export interface KnownInput {
  readonly size: Size | null;
  readonly classes: readonly (readonly [number, string])[];
}

/** Where the camera is, as a value of the header that changes: readers of messages pass over it. */
export const writeCamera = ({ process_uuid: _, ...camera }: CameraMessage): string => `${JSON.stringify({ camera })}\n`;

/** The beginning of such lines. */
export const CAMERA_LINE = '{"camera":';

/** The lines of one part, which can be read without the others. */
export class LineWriter {
  readonly #last = new LastValues();
  readonly #classes: (readonly [number, string])[];
  readonly #indices = new Map<string, number>();
  readonly #options: LineOptions;
  /** Of `#classes`: how many the reader knows. */
  #written: number;
  #size: Size | null;
  #timeMs: number;
  /** Of the line before. */
  #objects = "";
  readonly header: string;

  constructor(options: LineOptions, timeMs: number, known: KnownInput | null) {
    const { process, source, videoStartMs } = options;
    this.#options = options;
    this.#timeMs = timeMs;
    this.#size = known?.size ?? null;
    this.#classes = [...(known?.classes ?? [])];
    this.#written = this.#classes.length;
    for (const [index, [id, name]] of this.#classes.entries()) this.#indices.set(`${id} ${name}`, index);
    const header: PartHeader = {
      ...{ version: FORMAT_VERSION, process, source, time: new Date(timeMs).toISOString() },
      ...(videoStartMs !== null && { video_start: new Date(videoStartMs).toISOString() }),
      ...this.#size,
      classes: this.#classes,
    };
    this.header = `${JSON.stringify(header)}\n`;
  }

  get known(): KnownInput {
    return { size: this.#size, classes: this.#classes };
  }

  /** Number of objects of which the last values are kept. */
  get tracks(): number {
    return this.#last.size;
  }

  /** One line, or more where something of the header has changed. */
  write(message: DetectionMessage, timeMs: number): string {
    return this.#shorten(message, timeMs) ?? `${JSON.stringify(message)}\n`;
  }

  /** Null: the message does not fit. */
  #shorten(message: DetectionMessage, timeMs: number): string | null {
    const { active_tracks: tracks, telemetry_age_ms: ageMs } = message;
    const { process, source } = this.#options;
    if (message.source_uri !== source || message.process_uuid !== process || !Array.isArray(tracks)) return null;
    if (new Date(timeMs).toISOString() !== message.timestamp) return null;
    const keys = ageMs === undefined ? MESSAGE_KEYS : MESSAGE_KEYS + 1;
    if (Object.keys(message).length !== keys || (ageMs !== undefined && !Number.isSafeInteger(ageMs))) return null;
    const read: Numbers[] = [];
    for (const track of tracks) {
      const numbers = this.#readTrack(track);
      if (numbers === null) return null;
      read.push(numbers);
    }
    const size = this.#fitSize(tracks);
    if (size === null) return null;
    const changes = this.#describeChanges(size);
    if (read.length > 0) this.#size = size;
    const objects = describeObjects(read);
    const values = read.map((each) => this.#last.subtract(each).map(writeNumber).join("")).join("");
    const isSame = objects === this.#objects;
    this.#objects = objects;
    const line = [timeMs - this.#timeMs, values, ...(isSame && ageMs === undefined ? [] : [isSame ? null : objects])];
    this.#timeMs = timeMs;
    return `${changes}${JSON.stringify(ageMs === undefined ? line : [...line, ageMs])}\n`;
  }

  /** The known size if it explains the boxes, else the one that does; null: there is none. */
  #fitSize(tracks: readonly TrackEntry[]): Size | null {
    const known = this.#size;
    if (tracks.length === 0) return known ?? NO_SIZE;
    if (known !== null && fits(tracks, known)) return known;
    const size = measure(tracks);
    return size !== null && fits(tracks, size) ? size : null;
  }

  #describeChanges(size: Size): string {
    const isNewSize = size !== NO_SIZE && (size.width !== this.#size?.width || size.height !== this.#size?.height);
    const isNewClass = this.#classes.length > this.#written;
    if (!isNewSize && !isNewClass) return "";
    this.#written = this.#classes.length;
    const changed = { ...(isNewSize && size), ...(isNewClass && { classes: this.#classes }) };
    return `${JSON.stringify(changed)}\n`;
  }

  /** Null: it does not fit. */
  #readTrack(track: TrackEntry | null): Numbers | null {
    const { bbox, scaled_bbox: scaled, track_id: id, class_id, class_name, confidence } = track ?? {};
    if (track === null || !Array.isArray(bbox) || !Array.isArray(scaled) || !Number.isSafeInteger(id)) return null;
    if (bbox.length !== 4 || scaled.length !== 4 || Math.abs(id as number) > MAX_NUMBER / 2) return null;
    const classIndex = this.#findClass(class_id, class_name);
    const values = [toParts(confidence, CONFIDENCE), ...scaled.map((side) => toParts(side, FRACTION))];
    const mask = readOptional(track, values);
    if (classIndex === null || values.includes(null) || !bbox.every(Number.isFinite)) return null;
    const keys = REQUIRED_KEYS + values.length - BASE + (mask >= ESTIMATED ? 1 : 0);
    if (Object.keys(track).length !== keys) return null;
    return { id: id as number, classIndex, mask, values: values as readonly number[] };
  }

  #findClass(id: unknown, name: unknown): number | null {
    if (!Number.isSafeInteger(id) || typeof name !== "string") return null;
    const key = `${id} ${name}`;
    const known = this.#indices.get(key);
    if (known !== undefined) return known;
    if (this.#classes.length >= MAX_CLASSES) return null;
    this.#indices.set(key, this.#classes.length);
    return this.#classes.push([id as number, name]) - 1;
  }
}

const sideOf = ({ width, height }: Size, at: number): number => (at % 2 === 0 ? width : height);

/** The size explains the boxes in pixels. */
const fits = (tracks: readonly TrackEntry[], size: Size): boolean =>
  tracks.every(({ bbox, scaled_bbox: scaled }) =>
    bbox.every((pixels, at) => Math.abs(pixels - (scaled[at] as number) * sideOf(size, at)) <= MAX_DEVIATION_PX),
  );

/** The larger a number, the more precise is the ratio. */
function measure(tracks: readonly TrackEntry[]): Size | null {
  const most = [0, 0];
  const ratio = [0, 0];
  for (const { bbox, scaled_bbox: scaled } of tracks)
    for (const [at, fraction] of scaled.entries()) {
      if (fraction <= (most[at % 2] ?? 0)) continue;
      most[at % 2] = fraction;
      ratio[at % 2] = Math.round((bbox[at] as number) / fraction);
    }
  const [width = 0, height = 0] = ratio;
  return width > 0 && height > 0 && width < 1e6 && height < 1e6 ? { width, height } : null;
}

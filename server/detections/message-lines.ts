/**
 * Detection messages as short lines of JSON, and back, without loss. Numbers are integers of a stated unit, and those of an
 * object are differences to its previous line: small, so that gzip makes them smaller still. `docs/stored-detections.md`
 * describes the format. A message that does not fit it is written as it is.
 */
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";

export const FORMAT_VERSION = 1;

/** The first line of each part; later lines of this kind change some of it. */
export interface PartHeader {
  readonly version: number;
  readonly process: string;
  /** `source_uri` of the messages. */
  readonly source: string;
  /** Capture time before the first difference. */
  readonly time: string;
  /** Capture time of second 0 of a video file; absent for live sources. */
  readonly video_start?: string;
  /** Of the input in pixels; absent while unknown. */
  readonly width?: number;
  readonly height?: number;
  /** `class_id` and `class_name`: objects have an index into this list. */
  readonly classes: readonly (readonly [number, string])[];
}

/** Fields of an object after its class, in the order of the line: how many parts of one. */
const CONFIDENCE = 100;
const FRACTION = 1_000_000;
const PIXEL = 100;
const OPTIONAL = [
  ...[["latitude", 1e7] as const, ["longitude", 1e7] as const, ["altitude", 100] as const],
  ...[["distance", 100] as const, ["azimuth", 1000] as const, ["elevation", 1000] as const],
  ...[["position_error_m", 100] as const, ["speed_mps", 100] as const, ["heading", 1000] as const],
];
/** class, confidence, x, y, width, height: always there. */
const BASE = 6;
/** Then four corrections of the box in pixels, which are not differences. */
const OPTIONAL_AT = BASE + 4;
/** `distance_estimated` is 1 or absent. */
const ESTIMATED_AT = OPTIONAL_AT + OPTIONAL.length;
const FIELDS = ESTIMATED_AT + 1;
/** x, y, width, height, in `BASE`. */
const SIDES_AT = 2;
/** Far outside the frame; products with its size are exact. */
const MAX_FRACTION = 1e9;
const REQUIRED_KEYS = 6;
const MESSAGE_KEYS = 4;

/** The values of an object in integers, from its class on: all, or without the optional ones. */
type Values = (number | null)[];

/** Null: it is not a multiple of the unit, so that it could not be read back as it is. */
function toParts(value: unknown, unit: number): number | null {
  if (typeof value !== "number") return null;
  const parts = Math.round(value * unit);
  return parts / unit === value && Number.isSafeInteger(parts) ? parts : null;
}

/** A side of the box in hundredths of a pixel, from its fraction in millionths: rounded half up, in integers. */
const toPixels = (fraction: number, side: number): number => Math.floor((2 * fraction * side + 10_000) / 20_000);

interface Size {
  readonly width: number;
  readonly height: number;
}

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

/** More than any model has; then a message is written as it is. */
const MAX_CLASSES = 10_000;

/** The lines of one part, which can be read without the others. */
export class LineWriter {
  readonly #last = new Map<number, Values>();
  readonly #classes: (readonly [number, string])[];
  readonly #indices = new Map<string, number>();
  readonly #options: LineOptions;
  /** Of `#classes`: how many the reader knows. */
  #written: number;
  #size: Size | null;
  #timeMs: number;
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
    const objects: Values[] = [];
    for (const track of tracks) {
      const values = this.#readTrack(track);
      if (values === null) return null;
      objects.push(values);
    }
    const size = this.#fitSize(objects);
    if (size === null) return null;
    const changes = this.#describeChanges(size);
    if (objects.length > 0) this.#size = size;
    let text = `${changes}[${timeMs - this.#timeMs},[`;
    for (let at = 0; at < objects.length; at += 1) {
      if (at > 0) text += ",";
      text += this.#writeObject((tracks[at] as TrackEntry).track_id, objects[at] as Values, size);
    }
    this.#timeMs = timeMs;
    return `${text}]${ageMs === undefined ? "" : `,${ageMs}`}]\n`;
  }

  /** The known size if it explains the boxes, else the one that does best; null: there is none. */
  #fitSize(objects: readonly Values[]): Size | null {
    const known = this.#size;
    if (objects.length === 0) return known ?? NO_SIZE;
    if (known !== null && objects.every((values) => fits(values, known))) return known;
    return measure(objects) ?? known;
  }

  #describeChanges(size: Size): string {
    const isNewSize = size !== NO_SIZE && (size.width !== this.#size?.width || size.height !== this.#size?.height);
    const isNewClass = this.#classes.length > this.#written;
    if (!isNewSize && !isNewClass) return "";
    this.#written = this.#classes.length;
    const changed = { ...(isNewSize && size), ...(isNewClass && { classes: this.#classes }) };
    return `${JSON.stringify(changed)}\n`;
  }

  /** With the box in pixels in place of its corrections; null: it does not fit. */
  #readTrack(track: TrackEntry | null): Values | null {
    const { bbox, scaled_bbox: scaled, track_id: id } = track ?? {};
    if (track === null || !Array.isArray(bbox) || !Array.isArray(scaled)) return null;
    if (bbox.length !== 4 || scaled.length !== 4 || !Number.isSafeInteger(id)) return null;
    const values: Values = [this.#findClass(track.class_id, track.class_name), toParts(track.confidence, CONFIDENCE)];
    for (let side = 0; side < 4; side += 1) {
      const fraction = toParts(scaled[side], FRACTION);
      values.push(fraction === null || Math.abs(fraction) > MAX_FRACTION ? null : fraction);
    }
    for (let side = 0; side < 4; side += 1) values.push(toParts(bbox[side], PIXEL));
    if (values.includes(null)) return null;
    const keys = Object.keys(track).length;
    return keys === REQUIRED_KEYS || keys === REQUIRED_KEYS + readOptional(track, values) ? values : null;
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

  /** Differences to its last values, without zeros and absent fields at the end. */
  #writeObject(id: number, values: Values, { width, height }: Size): string {
    for (let side = 0; side < 4; side += 1) {
      const pixels = toPixels(values[SIDES_AT + side] as number, side % 2 === 0 ? width : height);
      values[BASE + side] = (values[BASE + side] as number) - pixels;
    }
    const last = id === 0 ? undefined : this.#last.get(id);
    let text = `[${id}`;
    // Not written unless something follows.
    let skipped = "";
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at] as number | null;
      const difference = value === null ? null : value - (last === undefined || isCorrection(at) ? 0 : (last[at] ?? 0));
      if (at < OPTIONAL_AT ? difference === 0 : difference === null) skipped += `,${difference}`;
      else {
        text += `${skipped},${difference}`;
        skipped = "";
      }
    }
    if (id !== 0) this.#last.set(id, keepLast(values, last));
    return `${text}]`;
  }
}

const NO_SIZE: Size = { width: 0, height: 0 };

const isCorrection = (at: number): boolean => at >= BASE && at < OPTIONAL_AT;

/** An absent field keeps its last value for the next difference. */
function keepLast(values: Values, last: Values | undefined): Values {
  if (values.length <= OPTIONAL_AT && (last === undefined || last.length <= OPTIONAL_AT)) return values;
  const length = Math.max(values.length, last?.length ?? 0);
  return Array.from({ length }, (_, at) => values[at] ?? last?.[at] ?? 0);
}

/** Appends all of them. Returns how many there are; NaN: one does not fit. */
function readOptional(track: TrackEntry, values: Values): number {
  let count = 0;
  for (const [name, unit] of OPTIONAL) {
    const value = track[name];
    const parts = value === undefined ? null : toParts(value, unit);
    if (parts !== null) count += 1;
    else if (value !== undefined) return Number.NaN;
    values.push(parts);
  }
  const isEstimated = track.distance_estimated === true;
  values.push(isEstimated ? 1 : null);
  return isEstimated ? count + 1 : count;
}

/** Both boxes are rounded by themselves: a hundredth of a pixel is within that. */
function fits(values: Values, { width, height }: Size): boolean {
  for (let side = 0; side < 4; side += 1) {
    const pixels = toPixels(values[SIDES_AT + side] as number, side % 2 === 0 ? width : height);
    if (Math.abs((values[BASE + side] as number) - pixels) > 1) return false;
  }
  return true;
}

/** The larger a number, the more precise is the ratio. */
function measure(objects: readonly Values[]): Size | null {
  const most = [0, 0];
  const ratio = [0, 0];
  for (const values of objects)
    for (let side = 0; side < 4; side += 1) {
      const fraction = values[SIDES_AT + side] as number;
      if (fraction <= (most[side % 2] ?? 0)) continue;
      most[side % 2] = fraction;
      ratio[side % 2] = Math.round(((values[BASE + side] as number) * 10_000) / fraction);
    }
  const [width = 0, height = 0] = ratio;
  return width > 0 && height > 0 && width < 1e6 && height < 1e6 ? { width, height } : null;
}

/** A line that no version of this service has written. */
export class LineFault extends Error {
  override readonly name = "LineFault";
}

/** Reads the lines of one part after the other. */
export class LineReader {
  #header: PartHeader | null = null;
  #timeMs = 0;
  readonly #last = new Map<number, Values>();

  get header(): PartHeader | null {
    return this.#header;
  }

  /** Null: a line without a message. Throws `LineFault` for what it does not know. */
  read(line: string): { readonly timeMs: number; readonly message: DetectionMessage } | null {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (cause) {
      throw new LineFault("is not valid JSON", { cause });
    }
    if (Array.isArray(value)) return this.#expand(value as unknown as Line);
    if (typeof value !== "object" || value === null) throw new LineFault("is neither a list nor an object");
    if ("version" in value) return this.#begin(value as PartHeader);
    if ("timestamp" in value) {
      const message = value as DetectionMessage;
      return { timeMs: Date.parse(message.timestamp), message };
    }
    if (this.#header === null) throw new LineFault("comes before a header");
    this.#header = { ...this.#header, ...(value as JsonRecord) };
    return null;
  }

  #begin(header: PartHeader): null {
    if (header.version !== FORMAT_VERSION)
      throw new LineFault(
        `has the format version ${header.version}; this version of windhover reads ${FORMAT_VERSION}`,
      );
    this.#header = header;
    this.#timeMs = Date.parse(header.time);
    this.#last.clear();
    return null;
  }

  #expand([time, objects, ageMs]: Line) {
    const header = this.#header;
    if (header === null) throw new LineFault("comes before a header");
    this.#timeMs += time;
    const message: DetectionMessage = {
      timestamp: new Date(this.#timeMs).toISOString(),
      ...{ source_uri: header.source, process_uuid: header.process },
      active_tracks: objects.map((object) => this.#readObject(object, header)),
      ...(ageMs !== undefined && { telemetry_age_ms: ageMs }),
    };
    return { timeMs: this.#timeMs, message };
  }

  #readObject(object: readonly (number | null)[], { width = 0, height = 0, classes }: PartHeader): TrackEntry {
    const id = object[0] ?? 0;
    const values = this.#add(id, object);
    const [classId, className] = classes[values[0] ?? -1] ?? [];
    if (classId === undefined || className === undefined) throw new LineFault(`has an unknown class ${values[0]}`);
    const toFraction = (side: number): number => (values[SIDES_AT + side] as number) / FRACTION;
    const toBox = (side: number, length: number): number =>
      (toPixels(values[SIDES_AT + side] as number, length) + (values[BASE + side] as number)) / PIXEL;
    const entry: TrackEntry = {
      track_id: id,
      class_id: classId,
      class_name: className,
      bbox: [toBox(0, width), toBox(1, height), toBox(2, width), toBox(3, height)],
      scaled_bbox: [toFraction(0), toFraction(1), toFraction(2), toFraction(3)],
      confidence: (values[1] as number) / CONFIDENCE,
    };
    if (values.length > OPTIONAL_AT) addOptional(entry, values);
    return entry;
  }

  #add(id: number, object: readonly (number | null)[]): Values {
    const last = id === 0 ? undefined : this.#last.get(id);
    const length = object.length - 1 > OPTIONAL_AT ? FIELDS : OPTIONAL_AT;
    const values: Values = [];
    for (let at = 0; at < length; at += 1) {
      const difference = object[at + 1] ?? (at < OPTIONAL_AT ? 0 : null);
      const before = last === undefined || isCorrection(at) ? 0 : (last[at] ?? 0);
      values.push(difference === null ? null : difference + before);
    }
    if (id !== 0) this.#last.set(id, keepLast(values, last));
    return values;
  }
}

/** In the order of messages, in which `distance_estimated` is not the last. */
function addOptional(entry: TrackEntry, values: Values): void {
  for (let at = 0; at < OPTIONAL.length; at += 1) {
    const [name, unit] = OPTIONAL[at] as (typeof OPTIONAL)[number];
    const value = values[OPTIONAL_AT + at];
    if (name === "position_error_m" && values[ESTIMATED_AT] === 1) entry.distance_estimated = true;
    if (value !== null && value !== undefined) entry[name] = value / unit;
  }
}

type Line = readonly [time: number, objects: readonly (readonly (number | null)[])[], ageMs?: number];

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
const REQUIRED_KEYS = 6;
const MESSAGE_KEYS = 4;

const NOTHING: readonly number[] = [];

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

interface Sides {
  /** Of the frame: millionths. */
  readonly fractions: readonly number[];
  /** Hundredths of a pixel. */
  readonly pixels: readonly number[];
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
  readonly #last = new Map<number, readonly number[]>();
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
    const sides: Sides[] = [];
    for (const track of tracks) {
      const found = readSides(track);
      if (found === null) return null;
      sides.push(found);
    }
    const size = this.#fitSize(sides);
    if (size === null) return null;
    const objects: (readonly (number | null)[])[] = [];
    for (const [at, track] of tracks.entries()) {
      const object = this.#readObject(track, sides[at] as Sides, size);
      if (object === null) return null;
      objects.push(object);
    }
    const changes = this.#describeChanges(size);
    this.#size = size === NO_SIZE ? this.#size : size;
    const lines = objects.map((object) => this.#subtract(object));
    const time = timeMs - this.#timeMs;
    this.#timeMs = timeMs;
    const age = ageMs === undefined ? "" : `,${ageMs}`;
    return `${changes}[${time},[${lines.join(",")}]${age}]\n`;
  }

  /** The known size if it explains the boxes, else the one that does best; null: there is none. */
  #fitSize(all: readonly Sides[]): Size | null {
    if (all.length === 0) return this.#size ?? NO_SIZE;
    const known = this.#size;
    if (known !== null && all.every((sides) => fits(sides, known))) return known;
    const found = measure(all);
    return found ?? known;
  }

  #describeChanges(size: Size): string {
    const isNewSize = size !== NO_SIZE && (size.width !== this.#size?.width || size.height !== this.#size?.height);
    const isNewClass = this.#classes.length > this.#written;
    if (!isNewSize && !isNewClass) return "";
    this.#written = this.#classes.length;
    const changed = { ...(isNewSize && size), ...(isNewClass && { classes: this.#classes }) };
    return `${JSON.stringify(changed)}\n`;
  }

  /** Its id and all its values as integers; null: it does not fit. */
  #readObject(track: TrackEntry, { fractions, pixels }: Sides, { width, height }: Size): (number | null)[] | null {
    const classIndex = this.#findClass(track.class_id, track.class_name);
    const confidence = toParts(track.confidence, CONFIDENCE);
    if (classIndex === null || confidence === null || !Number.isSafeInteger(track.track_id)) return null;
    const values: (number | null)[] = [track.track_id, classIndex, confidence, ...fractions];
    for (let side = 0; side < 4; side += 1)
      values.push((pixels[side] ?? 0) - toPixels(fractions[side] ?? 0, side % 2 === 0 ? width : height));
    let keys = REQUIRED_KEYS;
    for (const [name, unit] of OPTIONAL) {
      const value = track[name];
      const parts = value === undefined ? null : toParts(value, unit);
      if (value !== undefined) {
        if (parts === null) return null;
        keys += 1;
      }
      values.push(parts);
    }
    if (track.distance_estimated === true) keys += 1;
    values.push(track.distance_estimated === true ? 1 : null);
    return Object.keys(track).length === keys ? values : null;
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

  /** As text: differences to its last values, without zeros and absent fields at the end. */
  #subtract([id, ...values]: readonly (number | null)[]): string {
    const isTracked = id !== 0;
    const last = (isTracked && this.#last.get(id as number)) || NOTHING;
    let text = `[${id}`;
    let rest = "";
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at] as number | null;
      const before = isCorrection(at) ? 0 : (last[at] ?? 0);
      const difference = value === null ? null : value - before;
      rest += `,${difference}`;
      if (at < OPTIONAL_AT ? difference !== 0 : difference !== null) {
        text += rest;
        rest = "";
      }
    }
    if (isTracked) this.#last.set(id as number, keepLast(values, last));
    return `${text}]`;
  }
}

const NO_SIZE: Size = { width: 0, height: 0 };

const isCorrection = (at: number): boolean => at >= BASE && at < OPTIONAL_AT;

/** An absent field keeps its last value for the next difference. */
const keepLast = (values: readonly (number | null)[], last: readonly number[]): readonly number[] =>
  values.map((value, at) => value ?? last[at] ?? 0);

function readSides(track: TrackEntry | null): Sides | null {
  const { bbox, scaled_bbox: scaled } = track ?? {};
  if (!Array.isArray(bbox) || !Array.isArray(scaled) || bbox.length !== 4 || scaled.length !== 4) return null;
  const fractions: number[] = [];
  const pixels: number[] = [];
  for (let side = 0; side < 4; side += 1) {
    const [fraction, pixel] = [toParts(scaled[side], FRACTION), toParts(bbox[side], PIXEL)];
    if (fraction === null || pixel === null || Math.abs(fraction) > 1e9) return null;
    fractions.push(fraction);
    pixels.push(pixel);
  }
  return { fractions, pixels };
}

/** Both boxes are rounded by themselves: a hundredth of a pixel is within that. */
const fits = ({ fractions, pixels }: Sides, { width, height }: Size): boolean =>
  pixels.every((pixel, side) => Math.abs(pixel - toPixels(fractions[side] ?? 0, side % 2 === 0 ? width : height)) <= 1);

/** The larger a number, the more precise is the ratio. */
function measure(all: readonly Sides[]): Size | null {
  const most = [0, 0];
  const ratio = [0, 0];
  for (const { fractions, pixels } of all)
    for (let side = 0; side < 4; side += 1) {
      const fraction = fractions[side] ?? 0;
      if (fraction <= (most[side % 2] ?? 0)) continue;
      most[side % 2] = fraction;
      ratio[side % 2] = Math.round(((pixels[side] ?? 0) * 10_000) / fraction);
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
  readonly #last = new Map<number, readonly number[]>();

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

  #readObject([id = 0, ...differences]: readonly (number | null)[], header: PartHeader): TrackEntry {
    const values = this.#add(id as number, differences);
    const [classIndex = 0, confidence] = values;
    const [classId, className] = header.classes[classIndex as number] ?? [];
    if (classId === undefined || className === undefined) throw new LineFault(`has an unknown class ${classIndex}`);
    const fractions = values.slice(2, BASE) as [number, number, number, number];
    const { width = 0, height = 0 } = header;
    const toBox = (side: number): number =>
      (toPixels(fractions[side] as number, side % 2 === 0 ? width : height) + (values[BASE + side] as number)) / PIXEL;
    const entry: TrackEntry = {
      ...{ track_id: id as number, class_id: classId, class_name: className },
      bbox: [toBox(0), toBox(1), toBox(2), toBox(3)],
      scaled_bbox: [
        ...([(fractions[0] as number) / FRACTION, (fractions[1] as number) / FRACTION] as const),
        ...([(fractions[2] as number) / FRACTION, (fractions[3] as number) / FRACTION] as const),
      ],
      confidence: (confidence as number) / CONFIDENCE,
    };
    this.#addOptional(entry, values);
    return entry;
  }

  /** In the order of messages, in which `distance_estimated` is not the last. */
  #addOptional(entry: TrackEntry, values: readonly (number | null)[]): void {
    for (const [at, [name, unit]] of OPTIONAL.entries()) {
      const value = values[OPTIONAL_AT + at];
      if (name === "position_error_m" && values[ESTIMATED_AT] === 1) entry.distance_estimated = true;
      if (value !== null && value !== undefined) entry[name] = value / unit;
    }
  }

  #add(id: number, differences: readonly (number | null)[]): readonly (number | null)[] {
    const last = (id !== 0 && this.#last.get(id)) || NOTHING;
    const values: (number | null)[] = [];
    for (let at = 0; at < FIELDS; at += 1) {
      const difference = differences[at] ?? (at < OPTIONAL_AT ? 0 : null);
      values.push(difference === null ? null : difference + (isCorrection(at) ? 0 : (last[at] ?? 0)));
    }
    if (id !== 0) this.#last.set(id, keepLast(values, last));
    return values;
  }
}

type Line = readonly [time: number, objects: readonly (readonly (number | null)[])[], ageMs?: number];

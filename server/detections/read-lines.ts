/** Lines of stored detections, back to messages. */
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { FORMAT_VERSION } from "./message-lines.ts";
import { readNumbers } from "./numbers.ts";
import {
  BASE,
  CONFIDENCE,
  type Described,
  ESTIMATED,
  FRACTION,
  LastValues,
  type Numbers,
  OPTIONAL,
  placesOf,
  readObjects,
} from "./object-numbers.ts";
import { LineFault, type ObjectReader, type PartHeader } from "./object-reader.ts";
import { Version1Objects } from "./version-1.ts";

/** Reads the lines of one part after the other. */
export class LineReader {
  #header: PartHeader | null = null;
  #objects: ObjectReader | null = null;
  #timeMs = 0;

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
    if (Array.isArray(value)) return this.#expand(value);
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
    const Objects = READERS.get(header.version);
    if (Objects === undefined)
      throw new LineFault(
        `has the format version ${header.version}; this version of windhover reads 1 to ${FORMAT_VERSION}`,
      );
    this.#header = header;
    this.#timeMs = Date.parse(header.time);
    this.#objects = new Objects();
    return null;
  }

  #expand(line: readonly unknown[]) {
    const [header, objects] = [this.#header, this.#objects];
    if (header === null || objects === null) throw new LineFault("comes before a header");
    const { tracks, ageMs } = objects.read(line, header);
    if (tracks.includes(null)) throw new LineFault("has an unknown class");
    this.#timeMs += line[0] as number;
    const message: DetectionMessage = {
      timestamp: new Date(this.#timeMs).toISOString(),
      ...{ source_uri: header.source, process_uuid: header.process },
      active_tracks: tracks as TrackEntry[],
      ...(ageMs !== undefined && { telemetry_age_ms: ageMs }),
    };
    return { timeMs: this.#timeMs, message };
  }
}

/** A line is `[time, values]`, `[time, values, objects]` or `[time, values, objects or null, telemetry_age_ms]`. */
class Version2Objects implements ObjectReader {
  readonly #last = new LastValues();
  #objects: readonly Described[] = [];

  read([, values, objects, ageMs]: readonly unknown[], header: PartHeader) {
    if (typeof objects === "string") this.#objects = readObjects(objects);
    const numbers = typeof values === "string" ? readNumbers(values) : null;
    if (numbers === null) throw new LineFault("has values that cannot be read");
    let at = 0;
    const tracks = this.#objects.map((object) => {
      const count = placesOf(object.mask).length;
      const own = numbers.slice(at, at + count);
      at += count;
      return toEntry({ ...object, values: this.#last.add({ ...object, values: own }) }, header);
    });
    if (at !== numbers.length) throw new LineFault("has more or fewer values than its objects");
    return { tracks, ageMs: ageMs as number | undefined };
  }
}

/** Null: its class is unknown. */
function toEntry(
  { id, classIndex, mask, values }: Numbers,
  { width = 0, height = 0, classes }: PartHeader,
): TrackEntry | null {
  const [classId, className] = classes[classIndex] ?? [];
  if (classId === undefined || className === undefined) return null;
  const [confidence = 0, ...parts] = values;
  const [x = 0, y = 0, wide = 0, high = 0] = parts;
  const entry: TrackEntry = {
    ...{ track_id: id, class_id: classId, class_name: className },
    bbox: [toPixels(x, width), toPixels(y, height), toPixels(wide, width), toPixels(high, height)],
    scaled_bbox: [x / FRACTION, y / FRACTION, wide / FRACTION, high / FRACTION],
    confidence: confidence / CONFIDENCE,
  };
  if (mask > 0) addOptional(entry, mask, values);
  return entry;
}

/** In the order of messages, in which `distance_estimated` is not the last. */
function addOptional(entry: TrackEntry, mask: number, values: readonly number[]): void {
  const order = placesOf(mask);
  for (const [bit, [name, unit]] of OPTIONAL.entries()) {
    if (name === "position_error_m" && mask >= ESTIMATED) entry.distance_estimated = true;
    const at = order.indexOf(BASE + bit);
    if (at >= 0) entry[name] = (values[at] as number) / unit;
  }
}

/** In hundredths of a pixel, rounded half up. */
const toPixels = (fraction: number, side: number): number => Math.floor((fraction * side + 50) / 100) / 100;

const READERS: ReadonlyMap<unknown, new () => ObjectReader> = new Map<unknown, new () => ObjectReader>([
  [1, Version1Objects],
  [FORMAT_VERSION, Version2Objects],
]);

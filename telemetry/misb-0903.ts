/**
 * VMTI local set of MISB ST 0903: the objects that were found in the picture, as targets. It is written inside of item 74 of
 * ST 0601. Reading passes over everything that it does not know.
 */
import {
  type Codec,
  count,
  imapb,
  microseconds,
  readItems,
  readLength,
  readTag,
  text,
  writeItem,
  writeLength,
  writeTag,
} from "./klv.ts";

/** Pixel numbers count from 1, row by row: `numberPixel`. */
export interface VmtiTarget {
  readonly id: number;
  readonly centroid?: number;
  readonly topLeft?: number;
  readonly bottomRight?: number;
  readonly priority?: number;
  /** Percent. */
  readonly confidence?: number;
  readonly history?: number;
  /** Degrees from the centre of the frame (items 23 and 24 of ST 0601). */
  readonly latitudeOffset?: number;
  readonly longitudeOffset?: number;
  /** Metres above the ellipsoid. */
  readonly height?: number;
  readonly centroidRow?: number;
  readonly centroidColumn?: number;
}

export interface Vmti {
  readonly timeStamp?: bigint;
  readonly systemName?: string;
  readonly version?: number;
  readonly targetsDetected?: number;
  readonly targetsReported?: number;
  readonly frameNumber?: number;
  readonly frameWidth?: number;
  readonly frameHeight?: number;
  readonly sourceSensor?: string;
  readonly hfov?: number;
  readonly vfov?: number;
  readonly targets: readonly VmtiTarget[];
}

const offset = imapb(-19.2, 19.2, 3);
/** Before ST 0903.4 offsets were signed integers. */
const FIRST_IMAPB_VERSION = 4;
const LEGACY_OFFSET = 19.2 / (2 ** 23 - 1);

// biome-ignore lint/suspicious/noExplicitAny: one table for values of several types.
type Table<T> = readonly (readonly [tag: number, name: keyof T & string, codec: Codec<any>])[];

const SET: Table<Omit<Vmti, "targets">> = [
  [2, "timeStamp", microseconds],
  [3, "systemName", text],
  [4, "version", count],
  [5, "targetsDetected", count],
  [6, "targetsReported", count],
  [7, "frameNumber", count],
  [8, "frameWidth", count],
  [9, "frameHeight", count],
  [10, "sourceSensor", text],
  [11, "hfov", imapb(0, 180, 2)],
  [12, "vfov", imapb(0, 180, 2)],
];
const TARGET: Table<Omit<VmtiTarget, "id">> = [
  [1, "centroid", count],
  [2, "topLeft", count],
  [3, "bottomRight", count],
  [4, "priority", count],
  [5, "confidence", count],
  [6, "history", count],
  [10, "latitudeOffset", offset],
  [11, "longitudeOffset", offset],
  [12, "height", imapb(-900, 19_000, 2)],
  [19, "centroidRow", count],
  [20, "centroidColumn", count],
];
const TARGET_SERIES = 101;
/** More than any sender reports; limits the work for a damaged set. */
const MAX_TARGETS = 1000;

/** The number of a pixel, whose column and row count from 0. */
export const numberPixel = (column: number, row: number, width: number): number => row * width + column + 1;

export function writeVmti(vmti: Vmti): Buffer {
  const packs = vmti.targets.slice(0, MAX_TARGETS).map((target) => {
    const pack = Buffer.concat([writeTag(target.id), ...writeTable(TARGET, target)]);
    return Buffer.concat([writeLength(pack.length), pack]);
  });
  const series = packs.length === 0 ? [] : [writeItem(TARGET_SERIES, Buffer.concat(packs))];
  return Buffer.concat([...writeTable(SET, vmti), ...series]);
}

export function readVmti(bytes: Buffer): Vmti {
  const set = readTable(SET, bytes) as Omit<Vmti, "targets">;
  const isLegacy = set.version !== undefined && set.version < FIRST_IMAPB_VERSION;
  const targets: VmtiTarget[] = [];
  for (const { tag, value } of readItems(bytes)) {
    if (tag !== TARGET_SERIES) continue;
    for (let at = 0; at < value.length && targets.length < MAX_TARGETS; ) {
      const length = readLength(value, at);
      if (length === null) break;
      const pack = value.subarray(at + length.size, at + length.size + length.value);
      const id = readTag(pack);
      if (id === null) break;
      targets.push({ id: id.value, ...readTarget(pack.subarray(id.size), isLegacy) });
      at += length.size + length.value;
    }
  }
  return { ...set, targets };
}

function readTarget(bytes: Buffer, isLegacy: boolean): Omit<VmtiTarget, "id"> {
  const target = readTable(TARGET, bytes) as { -readonly [K in keyof Omit<VmtiTarget, "id">]: VmtiTarget[K] };
  if (!isLegacy) return target;
  for (const { tag, value } of readItems(bytes)) {
    if (value.length !== 3) continue;
    if (tag === 10) target.latitudeOffset = value.readIntBE(0, 3) * LEGACY_OFFSET;
    if (tag === 11) target.longitudeOffset = value.readIntBE(0, 3) * LEGACY_OFFSET;
  }
  return target;
}

const writeTable = <T extends object>(table: Table<T>, values: T): readonly Buffer[] =>
  table.flatMap(([tag, name, codec]) => {
    const value = values[name];
    return value === undefined ? [] : [writeItem(tag, codec.write(value))];
  });

function readTable<T>(table: Table<T>, bytes: Buffer): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { tag, value } of readItems(bytes)) {
    const [, name, codec] = table.find(([known]) => known === tag) ?? [];
    const read = codec?.read(value) ?? null;
    if (name !== undefined && read !== null) values[name] = read;
  }
  return values;
}

/** Finds ONNX models whose weights are in a second file, as newer PyTorch exporters write them. */
import { closeSync, openSync, readSync, statSync } from "node:fs";

/** Field numbers of onnx.proto. */
const GRAPH = 7;
const INITIALISER = 5;
const EXTERNAL_DATA = 13;
const DATA_LOCATION = 14;
const IN_ANOTHER_FILE = 1;
const KEY = 1;
const VALUE = 2;

const WINDOW_BYTES = 4096;

/** The name of the second file as stated in the model; null for a model in one file, and for a file that is not a model. */
export function findExternalData(file: string): string | null {
  const handle = openSync(file, "r");
  try {
    return findLocation(openWindow(handle), statSync(file).size);
  } finally {
    closeSync(handle);
  }
}

/** Reads small windows of the file: weights, which may be gigabytes, are skipped. */
function openWindow(handle: number): Source {
  const window = Buffer.alloc(WINDOW_BYTES);
  let start = 0;
  let length = 0;
  return (offset) => {
    if (offset < start || offset >= start + length) {
      start = offset;
      length = readSync(handle, window, 0, WINDOW_BYTES, offset);
    }
    return window[offset - start] ?? 0;
  };
}

function findLocation(source: Source, size: number): string | null {
  for (const graph of readFields(source, 0, size)) {
    if (graph.number !== GRAPH) continue;
    for (const tensor of readFields(source, graph.start, graph.end)) {
      if (tensor.number !== INITIALISER) continue;
      const location = locationOf(source, tensor);
      if (location !== null) return location;
    }
  }
  return null;
}

function locationOf(source: Source, tensor: Field): string | null {
  let isElsewhere = false;
  let location = "";
  for (const { number, value, start, end } of readFields(source, tensor.start, tensor.end)) {
    if (number === DATA_LOCATION) isElsewhere = value === IN_ANOTHER_FILE;
    if (number !== EXTERNAL_DATA) continue;
    const entry = new Map([...readFields(source, start, end)].map((field) => [field.number, field]));
    const read = (wanted: number) => readText(source, entry.get(wanted));
    if (read(KEY) === "location") location = read(VALUE);
  }
  return isElsewhere ? location : null;
}

const LONGEST_TEXT = 4096;

function readText(source: Source, field: Field | undefined): string {
  if (field === undefined) return "";
  const length = Math.min(field.end - field.start, LONGEST_TEXT);
  return Buffer.from(Array.from({ length }, (_, i) => source(field.start + i))).toString("utf8");
}

/** The byte at an offset. */
type Source = (offset: number) => number;

interface Field {
  readonly number: number;
  /** Value of an integer; 0 for all other types. */
  readonly value: number;
  /** Offsets of its content. */
  readonly start: number;
  readonly end: number;
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
/** In groups of 7 bits. */
const LONGEST_VARINT = 10;
/** A large network has some thousands. A file of another format may appear to have any number. */
const MOST_FIELDS = 1_000_000;

/** The fields of a protobuf message. Stops at the first invalid one: onnxruntime reports the fault on opening the file. */
function* readFields(source: Source, start: number, end: number): Generator<Field> {
  let at = start;
  for (let count = 0; count < MOST_FIELDS && at < end; count++) {
    const field = readField(source, at, end);
    if (field === null || field.number === 0 || field.end > end) return;
    yield field;
    at = field.end;
  }
}

function readField(source: Source, at: number, limit: number): Field | null {
  const key = readVarint(source, at, limit);
  if (key === null) return null;
  const number = Math.floor(key.value / 8);
  const start = key.end;
  const varint = readVarint(source, start, limit);
  switch (key.value % 8) {
    case VARINT:
      return varint && { number, value: varint.value, start, end: varint.end };
    case BYTES:
      return varint && { number, value: 0, start: varint.end, end: varint.end + varint.value };
    case FIXED64:
      return { number, value: 0, start, end: start + 8 };
    case FIXED32:
      return { number, value: 0, start, end: start + 4 };
    default:
      return null;
  }
}

/** Not exact beyond 53 bits: no length, field number or enum value is as large. */
function readVarint(source: Source, start: number, end: number): { value: number; end: number } | null {
  let value = 0;
  for (let i = 0; i < LONGEST_VARINT && start + i < end; i++) {
    const byte = source(start + i);
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return { value, end: start + i + 1 };
  }
  return null;
}

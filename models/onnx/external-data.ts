/** Finds ONNX models whose weights lie in a second file, as newer exporters of PyTorch write them. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { type Field, readFields, type Source } from "./read-fields.ts";

/** Numbers of onnx.proto. */
const GRAPH = 7;
const INITIALISER = 5;
const EXTERNAL_DATA = 13;
const DATA_LOCATION = 14;
const IN_ANOTHER_FILE = 1;
const KEY = 1;
const VALUE = 2;

const WINDOW_BYTES = 4096;

/** The name of the other file, as the model states it; null for a model in one file and for what is no model. */
export function findExternalData(file: string): string | null {
  const handle = openSync(file, "r");
  try {
    return findLocation(openWindow(handle), statSync(file).size);
  } finally {
    closeSync(handle);
  }
}

/** Weights are skipped, not read: a model may have gigabytes of them. */
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
    const entry = [...readFields(source, start, end)];
    const read = (wanted: number) =>
      readText(
        source,
        entry.find((field) => field.number === wanted),
      );
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

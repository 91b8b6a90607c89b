/** The fields of a protocol-buffer message, one after another, without what they hold. */

/** The byte at an offset. */
export type Source = (offset: number) => number;

export interface Field {
  readonly number: number;
  /** Of whole numbers; 0 for all others. */
  readonly value: number;
  /** Where what it holds begins, and where it ends. */
  readonly start: number;
  readonly end: number;
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
/** Of 7 bits each. */
const LONGEST_VARINT = 10;
/** A large network has some thousands. What is no message at all may seem to have any number. */
const MOST_FIELDS = 1_000_000;

/** Ends at the first thing that cannot be a field: whoever opens the file says what is wrong with it. */
export function* readFields(source: Source, start: number, end: number): Generator<Field> {
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

/** Beyond 53 bits not exact: no length, number or choice is as large. */
function readVarint(source: Source, start: number, end: number): { value: number; end: number } | null {
  let value = 0;
  for (let i = 0; i < LONGEST_VARINT && start + i < end; i++) {
    const byte = source(start + i);
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return { value, end: start + i + 1 };
  }
  return null;
}

/** Fields of caps whose type everybody agrees on: a value of another type is one that nothing will ever take. */
import { type CapsScalar, listScalars } from "./caps.ts";

interface FieldType {
  readonly types: readonly string[];
  readonly pattern: RegExp;
  readonly expected: string;
}

const WHOLE = { types: ["int", "i", "uint", "u"], pattern: /^([+-]?\d+|0x[\da-f]+|min|max)$/i };
const FRACTION = { types: ["fraction", "GstFraction"], pattern: /^\d+\/[1-9]\d*$/ };

const FIELDS: Readonly<Record<string, FieldType>> = {
  width: { ...WHOLE, expected: "a whole number: width=640" },
  height: { ...WHOLE, expected: "a whole number: height=360" },
  framerate: { ...FRACTION, expected: "a fraction: framerate=30/1" },
  "max-framerate": { ...FRACTION, expected: "a fraction: max-framerate=30/1" },
  "pixel-aspect-ratio": { ...FRACTION, expected: "a fraction: pixel-aspect-ratio=1/1" },
};

export interface FieldFault {
  readonly found: string;
  readonly expected: string;
}

/** Of caps that can be read. Null: none is wrong. */
export function checkFields(caps: string): FieldFault | null {
  for (const scalar of listScalars(caps)) {
    const field = Object.hasOwn(FIELDS, scalar.name) ? FIELDS[scalar.name] : undefined;
    if (field === undefined || fits(scalar, field)) continue;
    const found = `${scalar.type === null ? "" : `(${scalar.type})`}${scalar.text}`;
    return { found: `${scalar.name}=${found}`, expected: field.expected };
  }
  return null;
}

function fits({ type, text }: CapsScalar, field: FieldType): boolean {
  if (type !== null && !field.types.includes(type)) return false;
  // With its type said, GStreamer reads a whole number as a fraction.
  return field.pattern.test(text) || (type !== null && /^\d+$/.test(text));
}

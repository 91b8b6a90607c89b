/** Properties of GStreamer elements, checked against GStreamer's own introspection. */

import type { Json } from "../../schemas/json.ts";
import type { FactoryInfo, PropertyInfo } from "../../schemas/registry.ts";
import { suggest } from "../../schemas/suggest.ts";
import { type CapsScalar, listScalars, parseCaps } from "./caps.ts";
import { describeRange, describeValue, listChoices } from "./describe.ts";
import { listPads, matchesTemplate, type PadProperty, splitPadProperty, suggestPad } from "./pad-names.ts";

type PropertyCheck =
  /** `undefined`: keep GStreamer's default. */
  | { readonly ok: true; readonly value: Json | undefined }
  | { readonly ok: false; readonly found: string; readonly expected: string; readonly suggestion?: string | undefined };

interface UnknownProperty {
  readonly message: string;
  readonly expected: string;
  readonly suggestion: string | undefined;
}

/** `sink_1::xpos` names a property of a pad. */
export function findNativeProperty(factory: FactoryInfo, name: string): PropertyInfo | UnknownProperty {
  const ofPad = splitPadProperty(name);
  if (ofPad !== null) return findPadProperty(factory, ofPad);
  if (Object.hasOwn(factory.properties, name)) return factory.properties[name] as PropertyInfo;
  const suggestion = suggest(name, Object.keys(factory.properties));
  const expected = `a property that \`windhover inspect ${factory.name}\` lists`;
  return { message: `${factory.name} has no property "${name}"`, expected, suggestion };
}

function findPadProperty(factory: FactoryInfo, { pad: name, property }: PadProperty): PropertyInfo | UnknownProperty {
  const written = `${name}::${property}`;
  const pad = factory.pads.find((candidate) => matchesTemplate(candidate, name));
  if (pad === undefined || name.includes("%")) {
    const near = suggestPad(name, factory.pads);
    return {
      message: `${factory.name} has no pad "${name}"`,
      expected: listPads(factory.pads) || "no pad property: it has no pads",
      suggestion: near === undefined ? undefined : `${near}::${property}`,
    };
  }
  if (pad.presence === "sometimes" || pad.properties === undefined) {
    const why =
      pad.presence === "sometimes" ? "appear while the graph runs" : "have no properties that GStreamer lists";
    const message = `${factory.name} has no property "${written}": its pads ${pad.name} ${why}`;
    const withProperties = factory.pads.filter((other) => other.properties !== undefined);
    const expected = withProperties.length === 0 ? "no property of a pad" : `a property of ${listPads(withProperties)}`;
    return { message, expected, suggestion: undefined };
  }
  if (Object.hasOwn(pad.properties, property)) return pad.properties[property] as PropertyInfo;
  const near = suggest(property, Object.keys(pad.properties));
  return {
    message: `pads ${pad.name} of ${factory.name} have no property "${property}"`,
    expected: Object.keys(pad.properties).join(", "),
    suggestion: near === undefined ? undefined : `${name}::${near}`,
  };
}

/** `untyped`: the value is text from a launch line and is converted to the type of the property. */
export function checkNativeValue(info: PropertyInfo, given: Json, untyped: boolean): PropertyCheck {
  const value = untyped && typeof given === "string" ? typeText(info, given) : given;
  const wrong = (expected: string, found = describeValue(value)): PropertyCheck => {
    const nicks = typeof value === "string" ? (info.values ?? []).map((choice) => choice.nick) : [];
    return { ok: false, found, expected, suggestion: suggest(String(value), nicks) };
  };
  if (!info.writable) return wrong("no value", "read-only");
  if (info.kind === "opaque") return wrong("no value", `a ${info.gtype}, which cannot be written as text`);
  if (given === null) return { ok: true, value: undefined };
  switch (info.kind) {
    case "boolean":
      return typeof value === "boolean" ? { ok: true, value } : wrong("true or false");
    case "integer":
    case "number": {
      const what = info.kind === "integer" ? "a whole number" : "a number";
      const fits =
        typeof value === "number" &&
        (info.kind === "number" || Number.isInteger(value)) &&
        value >= (info.minimum ?? -Infinity) &&
        value <= (info.maximum ?? Infinity);
      return fits ? { ok: true, value } : wrong(describeRange(what, info.minimum, info.maximum));
    }
    case "string":
      return typeof value === "string" ? { ok: true, value } : wrong("text, in quotes");
    case "enum":
      return checkEnum(info, value) ?? wrong(listNicks(info));
    case "flags":
      return checkFlags(info, value) ?? wrong(`${listNicks(info)}, several joined with +`);
    case "fraction":
      return checkFraction(value) ?? wrong('a fraction such as "30/1"');
    case "caps": {
      if (typeof value !== "string" || parseCaps(value) === null) return wrong('caps such as "video/x-raw,width=640"');
      const fault = checkFields(value);
      return fault === null
        ? { ok: true, value }
        : wrong(fault.expected, `${describeValue(value)}, with ${fault.found}`);
    }
    case "structure":
      return typeof value === "string" && value.trim() !== ""
        ? { ok: true, value }
        : wrong('a structure such as "name,key=value"');
  }
}

const listNicks = (info: PropertyInfo): string => listChoices((info.values ?? []).map((choice) => choice.nick));

function typeText(info: PropertyInfo, text: string): Json {
  if (info.kind === "boolean") {
    if (/^(true|yes|t|1)$/i.test(text)) return true;
    if (/^(false|no|f|0)$/i.test(text)) return false;
  }
  const numeric = info.kind === "integer" || info.kind === "number" || info.kind === "enum" || info.kind === "flags";
  if (numeric && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  return text;
}

/** By nick or number; the plan has the nick. */
function checkEnum(info: PropertyInfo, value: Json): PropertyCheck | null {
  const choice = (info.values ?? []).find(({ nick, value: number }) => nick === value || number === value);
  return choice === undefined ? null : { ok: true, value: choice.nick };
}

function checkFlags(info: PropertyInfo, value: Json): PropertyCheck | null {
  const known = info.values ?? [];
  if (typeof value === "number") {
    const covered = known.reduce((bits, flag) => bits | flag.value, 0);
    return Number.isInteger(value) && (value & ~covered) === 0 ? { ok: true, value } : null;
  }
  const nicks = typeof value === "string" ? value.split("+") : Array.isArray(value) ? (value as readonly Json[]) : [];
  const names = nicks.map((nick) => (typeof nick === "string" ? nick.trim() : ""));
  const fits = names.length > 0 && names.every((name) => known.some((flag) => flag.nick === name));
  return fits ? { ok: true, value: names.join("+") } : null;
}

function checkFraction(value: Json): PropertyCheck | null {
  if (typeof value === "number" && Number.isInteger(value)) return { ok: true, value: `${value}/1` };
  if (typeof value !== "string" || !/^-?\d{1,10}(\/\d{1,10})?$/.test(value)) return null;
  const [numerator, denominator = "1"] = value.split("/");
  return Number(denominator) === 0 ? null : { ok: true, value: `${numerator}/${denominator}` };
}

/** Fields of caps that have the same type in every element: a value of another type can never match. */
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

/** Null when all fields have the right type. */
function checkFields(caps: string): { readonly found: string; readonly expected: string } | null {
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
  // With an explicit type GStreamer also reads a whole number as a fraction.
  return field.pattern.test(text) || (type !== null && /^\d+$/.test(text));
}

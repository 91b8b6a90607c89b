/** Properties of GStreamer elements, checked against GStreamer's own introspection. */
import type { Json } from "../../schemas/json.ts";
import type { FactoryInfo, PropertyInfo } from "../../schemas/registry.ts";
import { suggest } from "../../schemas/suggest.ts";
import { parseCaps } from "./caps.ts";
import { checkFields } from "./caps-fields.ts";
import { describeRange, describeValue, listChoices } from "./describe.ts";
import { listPads, matchesTemplate, type PadProperty, splitPadProperty, suggestPad } from "./pad-names.ts";

export type PropertyVerdict =
  /** `undefined`: the value says nothing, GStreamer's default stays. */
  | { readonly ok: true; readonly value: Json | undefined }
  | { readonly ok: false; readonly found: string; readonly expected: string; readonly suggestion?: string | undefined };

export interface UnknownProperty {
  readonly message: string;
  readonly expected: string;
  readonly suggestion: string | undefined;
}

/** `sink_1::xpos` is a property of a pad. */
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

/** `untyped`: the value is text from a launch line and takes the type of the property. */
export function checkNativeValue(info: PropertyInfo, given: Json, untyped: boolean): PropertyVerdict {
  const value = untyped && typeof given === "string" ? typeText(info, given) : given;
  const wrong = (expected: string, found = describeValue(value)): PropertyVerdict => {
    const nicks = typeof value === "string" ? (info.values ?? []).map((choice) => choice.nick) : [];
    return { ok: false, found, expected, suggestion: suggest(String(value), nicks) };
  };
  if (!info.writable) return wrong("it to be left alone", "read-only");
  if (info.kind === "opaque") return wrong("it to be left alone", `a ${info.gtype}, which cannot be written as text`);
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

/** By nick or by number; the plan has the nick. */
function checkEnum(info: PropertyInfo, value: Json): PropertyVerdict | null {
  const choice = (info.values ?? []).find(({ nick, value: number }) => nick === value || number === value);
  return choice === undefined ? null : { ok: true, value: choice.nick };
}

function checkFlags(info: PropertyInfo, value: Json): PropertyVerdict | null {
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

function checkFraction(value: Json): PropertyVerdict | null {
  if (typeof value === "number" && Number.isInteger(value)) return { ok: true, value: `${value}/1` };
  if (typeof value !== "string" || !/^-?\d{1,10}(\/\d{1,10})?$/.test(value)) return null;
  const [numerator, denominator = "1"] = value.split("/");
  return Number(denominator) === 0 ? null : { ok: true, value: `${numerator}/${denominator}` };
}

/** The pages of `inspect`: one for a TypeScript element, one for a GStreamer element. */
import type { AnyElement, Read } from "../elements/element.ts";
import {
  propertiesOf,
  propertiesOfFactory,
  propertiesOfPads,
  type ShownProperty,
  showValue,
} from "../graphs/compiler/inspect.ts";
import type { FactoryInfo, PadInfo } from "../schemas/registry.ts";
import { PAGE_COLUMNS, type Paint, padTo, wrap } from "./text.ts";

const KINDS: Readonly<Record<AnyElement["kind"], string>> = {
  transform: "transform: runs TypeScript on every frame and passes it on",
  sink: "sink: runs TypeScript on every frame and ends the chain",
  composite: "composite: a bin of GStreamer elements",
};

export function describeElement(element: AnyElement, paint: Paint): string {
  const properties = propertiesOf(element);
  return [
    `${paint("bold", element.name)}`,
    wrap(element.about, PAGE_COLUMNS),
    ...part("Kind", wrap(KINDS[element.kind], PAGE_COLUMNS - 2).split("\n"), paint),
    ...part("Pads", describePads(element), paint),
    ...part("Metadata", describeMetadata(element), paint),
    ...(properties.length === 0 ? part("Properties", ["none"], paint) : describeProperties(properties, paint)),
    ...part("Example", element.example.trim().split("\n"), paint),
  ].join("\n");
}

function describePads(element: AnyElement): readonly string[] {
  if (element.kind === "composite") return [];
  const takes = row("sink", element.caps, 8);
  return element.kind === "sink" ? takes : [...takes, ...row("src", "the same", 8)];
}

function describeMetadata({ reads, writes }: AnyElement): readonly string[] {
  return [
    ...(reads === undefined || reads.length === 0 ? [] : row("reads", reads.map(describeRead).join(", "), 8)),
    ...(writes === undefined || writes.length === 0 ? [] : row("writes", writes.join(", "), 8)),
  ];
}

function describeRead(read: Read): string {
  if (typeof read === "string") return read;
  return "optional" in read ? `${read.optional} (optional)` : read.oneOf.join(" or ");
}

/** GST_RANK_PRIMARY and so on: the preference in autoplugging. */
const RANKS: readonly (readonly [number, string])[] = [
  [256, "primary"],
  [128, "secondary"],
  [64, "marginal"],
  [0, "none"],
];

export function describeFactory(factory: FactoryInfo, paint: Paint): string {
  return [
    paint("bold", factory.name),
    wrap(factory.about, PAGE_COLUMNS),
    ...part(
      "Kind",
      [
        ...row("name", factory.longName, 8),
        ...row("class", factory.klass, 8),
        ...row("plugin", factory.plugin, 8),
        ...row("rank", describeRank(factory.rank), 8),
      ],
      paint,
    ),
    ...part("Pads", factory.pads.flatMap(describePad), paint),
    ...describeProperties([...propertiesOfFactory(factory), ...propertiesOfPads(factory)], paint),
  ].join("\n");
}

function describeRank(rank: number): string {
  const [base, name] = RANKS.find(([value]) => rank >= value) ?? [0, "none"];
  return rank === base ? `${name} (${rank})` : `${name} + ${rank - base} (${rank})`;
}

function describePad({ name, direction, presence, caps }: PadInfo): readonly string[] {
  const structures = caps.split(/;\s*/).map((structure) => structure.trim());
  return [`${name}: ${direction}, ${presence}`, ...structures.flatMap((structure) => describeCaps(structure))];
}

/** One field per line if the structure does not fit on one. */
function describeCaps(structure: string): readonly string[] {
  const whole = `  ${structure}`;
  if (whole.length <= PAGE_COLUMNS - 2) return [whole];
  const [type = "", ...fields] = splitFields(structure);
  return [`  ${type}`, ...fields.flatMap((field) => row("", field.trim(), 6))];
}

/** Splits at commas outside of brackets. */
function splitFields(structure: string): readonly string[] {
  const fields: string[] = [];
  let depth = 0;
  let start = 0;
  for (const [index, letter] of [...structure].entries()) {
    if ("([{<".includes(letter)) depth += 1;
    else if (")]}>".includes(letter)) depth -= 1;
    else if (letter === "," && depth === 0) {
      fields.push(structure.slice(start, index));
      start = index + 1;
    }
  }
  return [...fields, structure.slice(start)];
}

const NAME_COLUMN = 26;

export const part = (title: string, lines: readonly string[], paint: Paint): readonly string[] =>
  lines.length === 0 ? [] : ["", paint("bold", title), ...lines.map((line) => `  ${line}`)];

/** `name   text`, with the text wrapped in its column. */
export function row(name: string, text: string, width = NAME_COLUMN - 2): readonly string[] {
  const lines = wrap(text, PAGE_COLUMNS - width - 4).split("\n");
  const [first = "", ...rest] = lines;
  const indent = " ".repeat(width);
  if (name.length >= width) return [name, ...lines.map((line) => indent + line)];
  return [padTo(name, width) + first, ...rest.map((line) => indent + line)];
}

export function describeProperties(properties: readonly ShownProperty[], paint: Paint): readonly string[] {
  return part(
    "Properties",
    properties.flatMap((property) => describeProperty(property, paint)),
    paint,
  );
}

const CHOICES_IN_FULL = 40;

function describeProperty(property: ShownProperty, paint: Paint): readonly string[] {
  const facts = [
    property.type,
    ...(property.default === undefined || property.default === null ? [] : [`default ${showValue(property.default)}`]),
    ...(property.required ? ["required"] : []),
    ...(property.readOnly ? ["read only"] : []),
    ...(property.live ? ["live"] : []),
    ...(property.deprecated ? ["deprecated"] : []),
  ].join("; ");
  const [first = "", ...rest] = row(property.name, facts);
  const named = first.replace(property.name, paint("cyan", property.name));
  const about = property.about === "" ? [] : row("", property.about).map((line) => paint("dim", line));
  return [named, ...rest, ...about, ...describeChoices(property)];
}

function describeChoices({ choices }: ShownProperty): readonly string[] {
  const indent = " ".repeat(NAME_COLUMN - 2);
  const width = Math.min(24, Math.max(0, ...choices.map(({ name }) => name.length)) + 2);
  const shown = choices.slice(0, CHOICES_IN_FULL);
  const lines = shown.flatMap(({ name, about }) =>
    row(name, about === name ? "" : about, width).map((line) => `${indent}${line}`.trimEnd()),
  );
  const left = choices.slice(CHOICES_IN_FULL).map(({ name }) => name);
  return left.length === 0 ? lines : [...lines, ...row("", `and ${left.join(", ")}`)];
}

/** Pages of `inspect`: titled parts, properties in two columns, text wrapped. */

import { type ShownProperty, showValue } from "../../graphs/compiler/inspect.ts";
import type { Paint } from "../terminal.ts";
import { PAGE_COLUMNS, padTo, wrap } from "../text.ts";

const NAME_COLUMN = 26;

export const part = (title: string, lines: readonly string[], paint: Paint): readonly string[] =>
  lines.length === 0 ? [] : ["", paint("bold", title), ...lines.map((line) => `  ${line}`)];

/** `name   text`, the text wrapped in its own column. */
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

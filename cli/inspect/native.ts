/** An element of GStreamer's, as `inspect` shows it. */
import { propertiesOfFactory, propertiesOfPads } from "../../graphs/compiler/inspect.ts";
import type { FactoryInfo, PadInfo } from "../../schemas/registry.ts";
import type { Paint } from "../terminal.ts";
import { PAGE_COLUMNS, wrap } from "../text.ts";
import { describeProperties, part, row } from "./page.ts";

/** GST_RANK_PRIMARY and its like; what GStreamer chooses by when it chooses by itself. */
const RANKS: readonly (readonly [number, string])[] = [
  [256, "primary"],
  [128, "secondary"],
  [64, "marginal"],
  [0, "none"],
];

export function describeNative(factory: FactoryInfo, paint: Paint): string {
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

/** One field a line where a structure does not fit on one. */
function describeCaps(structure: string): readonly string[] {
  const whole = `  ${structure}`;
  if (whole.length <= PAGE_COLUMNS - 2) return [whole];
  const [type = "", ...fields] = splitFields(structure);
  return [`  ${type}`, ...fields.flatMap((field) => row("", field.trim(), 6))];
}

/** At commas outside of brackets. */
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

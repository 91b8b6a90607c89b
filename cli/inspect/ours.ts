/** A TypeScript element, as `inspect` shows it. */
import type { AnyElement, Read } from "../../elements/element.ts";
import { propertiesOf } from "../../graphs/compiler/inspect.ts";
import type { Paint } from "../terminal.ts";
import { PAGE_COLUMNS, wrap } from "../text.ts";
import { describeProperties, part, row } from "./page.ts";

const KINDS: Readonly<Record<AnyElement["kind"], string>> = {
  transform: "transform: TypeScript runs on every frame and passes it on",
  sink: "sink: TypeScript runs on every frame and ends the chain",
  composite: "composite: stands for a run of GStreamer elements",
};

export function describeOurs(element: AnyElement, paint: Paint): string {
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
  const takes = row("takes", element.caps, 8);
  return element.kind === "sink" ? takes : [...takes, ...row("gives", "the same", 8)];
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

/** Values for live properties as a graph that extends the one that runs: a property a line, so that a fault names its own. */
import type { LiveValues } from "../../../schemas/live-values.ts";
import type { Fault } from "../../compiler/fault.ts";

/** JSON is YAML. */
export function writeLive(graph: string, base: string, live: LiveValues): string {
  const head = JSON.stringify({ graph, about: "", extends: base }).slice(0, -1);
  return [`${head}, "set": {`, ...listLines(live).map(({ text }) => text), "}}"].join("\n");
}

/** A JSON pointer to the value that a fault is about; `/` when it is about none of them. */
export function findLive(live: LiveValues, { at: { file, line } }: Fault): string {
  // The text is nobody's file, and its first line is the head.
  return (file === null ? listLines(live)[line - 2]?.path : undefined) ?? "/";
}

interface Line {
  readonly text: string;
  readonly path: string;
}

const listLines = (live: LiveValues): readonly Line[] =>
  Object.entries(live).flatMap(([node, values], index, nodes) => {
    const path = pointTo(node);
    return [
      { text: `${JSON.stringify(node)}: {`, path },
      ...Object.entries(values).map(([property, value], place, all) => ({
        text: `${JSON.stringify(property)}: ${writeValue(value)}${place < all.length - 1 ? "," : ""}`,
        path: pointTo(node, property),
      })),
      { text: index < nodes.length - 1 ? "}," : "}", path },
    ];
  });

/** What a client sends is a value, never a reference to a parameter. */
const writeValue = (value: unknown): string =>
  JSON.stringify(value, (_, inner) => (typeof inner === "string" ? inner.replaceAll("$", "$$$$") : inner));

export const pointTo = (...keys: readonly string[]): string =>
  keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

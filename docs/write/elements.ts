/** Every element of ours, from its own definition. */
import type { AnyElement, Read } from "../../elements/element.ts";
import { loadElements } from "../../elements/index.ts";
import { kebab } from "../../schemas/names.ts";
import { code, fence, made, table } from "./markdown.ts";

interface Property {
  readonly default?: unknown;
  readonly live?: boolean;
  readonly description?: string;
}

export async function writeElements(): Promise<string> {
  const elements = [...(await loadElements()).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return [
    made("the definitions below elements/"),
    "# Elements",
    "These are Windhover's own. Every element of GStreamer that is installed may stand beside them, with its own properties: `npx windhover inspect videoscale`.",
    table(
      ["Element", "Kind", "What it does"],
      elements.map(({ name, kind, about }) => [`[${name}](#${name})`, kind, about]),
    ),
    ...elements.map(writeElement),
  ].join("\n\n");
}

function writeElement({ name, about, example, properties, reads = [], writes = [] }: AnyElement): string {
  const declared = Object.entries<Property>(properties.properties);
  const metadata = [
    ...(reads.length > 0 ? [`Reads ${reads.map(sayRead).join(", ")}.`] : []),
    ...(writes.length > 0 ? [`Writes ${writes.map(code).join(", ")}.`] : []),
  ].join(" ");
  return [
    `## ${name}`,
    about,
    ...(metadata === "" ? [] : [metadata]),
    ...(declared.length === 0
      ? []
      : [
          table(
            ["Property", "Default", "Live", "What it is"],
            declared.map(([property, schema]) => [
              code(kebab(property)),
              schema.default === undefined ? "" : code(JSON.stringify(schema.default)),
              schema.live === true ? "yes" : "",
              schema.description ?? "",
            ]),
          ),
        ]),
    fence("yaml", example),
  ].join("\n\n");
}

function sayRead(read: Read): string {
  if (typeof read === "string") return code(read);
  return "optional" in read
    ? `${code(read.optional)} where there is some`
    : `one of ${read.oneOf.map(code).join(", ")}`;
}

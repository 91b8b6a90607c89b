/** All TypeScript elements, from their definitions. */
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
    "These are Windhover's own elements. All installed GStreamer elements can be used beside them, with their own properties: `npx windhover inspect videoscale`. A live property is mutable while PLAYING.",
    table(
      ["Element", "Kind", "Description"],
      elements.map(({ name, kind, about }) => [`[${name}](#${name})`, kind, about]),
    ),
    ...elements.map(writeElement),
  ].join("\n\n");
}

function writeElement({ name, about, example, properties, reads = [], writes = [] }: AnyElement): string {
  const declared = Object.entries<Property>(properties.properties);
  const metadata = [
    ...(reads.length > 0 ? [`Reads ${reads.map(describeRead).join(", ")}.`] : []),
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
            ["Property", "Default", "Live", "Description"],
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

function describeRead(read: Read): string {
  if (typeof read === "string") return code(read);
  return "optional" in read ? `${code(read.optional)} (optional)` : `one of ${read.oneOf.map(code).join(", ")}`;
}

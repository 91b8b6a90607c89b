/** A workspace with elements, for tests. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Creates the files, by their paths. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

export const SETTINGS =
  "graphs: { folders: [graphs] }\nelements: { folders: [elements] }\nmodels: { folders: [models] }\n";

interface Parts {
  readonly kind?: "transform" | "sink";
  readonly caps?: string;
  /** Before the definition. */
  readonly above?: string;
  readonly properties?: string;
  /** The body of `create(properties, services)`. */
  readonly create?: string;
}

/** The source of an element. By default it passes frames on. */
export const elementText = (
  name: string,
  parts: Parts = {},
): string => `import { defineElement, Type } from "@windhover/element";
${parts.above ?? ""}
export default defineElement({
  kind: "${parts.kind ?? "transform"}",
  name: "${name}",
  about: "Test: ${name}.",
  example: "",
  properties: Type.Object({ ${parts.properties ?? ""} }),
  caps: "${parts.caps ?? "ANY"}",
  create(properties, services) {
    ${parts.create ?? "return { process() {} };"}
  },
});
`;

/** All configuration keys. */
import { CONFIG_KEYS, type ConfigKey } from "../../server/config/keys.ts";
import { code, made, table } from "./markdown.ts";

export function writeConfig(): string {
  const sections = groupKeys();
  return [
    made("schemas/config.ts"),
    "# Configuration",
    "Set these keys in `windhover.yaml` in the working directory, nested by section, or as environment variables, which take precedence. `npx windhover config` prints the effective values and the origin of each. Secrets are never shown.",
    ...[...sections].flatMap(([name, keys]) => [`## ${name === "" ? "Top level" : name}`, writeKeys(keys)]),
  ].join("\n\n");
}

const writeKeys = (keys: readonly ConfigKey[]): string =>
  table(
    ["Key", "Default", "Variable", "Description"],
    keys.map(({ name, variable, schema }) => [
      code(name),
      code(JSON.stringify(schema.default)),
      code(variable),
      schema.description ?? "",
    ]),
  );

function groupKeys(): ReadonlyMap<string, readonly ConfigKey[]> {
  const groups = new Map<string, ConfigKey[]>();
  for (const key of CONFIG_KEYS) {
    const name = key.path.length > 1 ? (key.path[0] ?? "") : "";
    groups.set(name, [...(groups.get(name) ?? []), key]);
  }
  return groups;
}

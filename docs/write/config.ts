/** Every key of the configuration. */
import { CONFIG_KEYS, type ConfigKey } from "../../server/config/keys.ts";
import { code, made, table } from "./markdown.ts";

export function writeConfig(): string {
  const sections = groupKeys();
  return [
    made("schemas/config.ts"),
    "# Configuration",
    "`windhover.yaml` in the working directory has these keys nested; the environment has them as variables and wins. `npx windhover config` prints what holds, and where each value comes from. Secrets are never shown.",
    ...[...sections].flatMap(([name, keys]) => [`## ${name === "" ? "At the top" : name}`, writeKeys(keys)]),
  ].join("\n\n");
}

const writeKeys = (keys: readonly ConfigKey[]): string =>
  table(
    ["Key", "Default", "Variable", "What it is"],
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

/** A `windhover.yaml` with every key in it, commented out, at its default. */
import type { ConfigKey } from "./keys.ts";
import { CONFIG_KEYS } from "./keys.ts";

export function writeExample(): string {
  const lines = ["# Windhover's configuration. Uncomment what is to differ; the environment goes before this file."];
  let section = "";
  for (const key of CONFIG_KEYS) {
    const [first = "", second] = key.path;
    if (second !== undefined && first !== section) lines.push("", `${first}:`);
    section = second === undefined ? "" : first;
    const indent = second === undefined ? "" : "  ";
    if (second === undefined) lines.push("");
    lines.push(`${indent}# ${describe(key)}`, `${indent}# ${key.path.at(-1)}: ${JSON.stringify(key.schema.default)}`);
  }
  return lines.join("\n");
}

function describe({ schema, variable }: ConfigKey): string {
  const choices = schema.anyOf?.flatMap((choice) => ("const" in choice ? [String(choice.const)] : [])) ?? [];
  const among = choices.length === 0 ? "" : ` One of ${choices.join(", ")}.`;
  return `${schema.description ?? ""}${among} (${variable})`;
}

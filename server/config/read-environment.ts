/** Settings from environment variables: text, read as the schema of its key says. */
import type { Json } from "../../schemas/json.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import type { ConfigFault } from "./fault.ts";
import { CONFIG_KEYS, type ConfigKey, type JsonSchema, PREFIX } from "./keys.ts";
import type { Setting } from "./setting.ts";

/** Variables of ours that are no settings of the service: where models are kept, and those of builds and tests. */
export const OTHER_VARIABLES = [
  "WINDHOVER_CACHE_DIR",
  "WINDHOVER_ADDON",
  "WINDHOVER_CONFINED",
  "WINDHOVER_FROM_SOURCE",
  "WINDHOVER_LEAK",
  "WINDHOVER_SEED",
  "WINDHOVER_SOAK",
  "WINDHOVER_TEST_ONCE",
  "WINDHOVER_TEST_PATIENCE",
] as const;

/** What hosts of databases set. Ours goes before it. */
const USUAL_NAMES: Readonly<Record<string, string>> = { "database.url": "DATABASE_URL" };

/** A variable that is empty counts as not set. */
export function readEnvironment(env: NodeJS.ProcessEnv, faults: ConfigFault[]): readonly Setting[] {
  findUnknown(env, faults);
  return CONFIG_KEYS.flatMap((key): Setting[] => {
    const where = [key.variable, USUAL_NAMES[key.name] ?? key.variable].find((name) => (env[name] ?? "") !== "");
    if (where === undefined) return [];
    return [{ key, value: readText(key, env[where] ?? ""), origin: { kind: "environment", where } }];
  });
}

function findUnknown(env: NodeJS.ProcessEnv, faults: ConfigFault[]): void {
  const known = new Set<string>([...CONFIG_KEYS.map(({ variable }) => variable), ...OTHER_VARIABLES]);
  const names = [...known].map((name) => name.slice(PREFIX.length));
  for (const where of Object.keys(env)) {
    if (!where.startsWith(PREFIX) || known.has(where)) continue;
    const hint = didYouMean(where.slice(PREFIX.length), names, PREFIX);
    const message = `there is no such setting${hint}${hint === "" ? "; `windhover config --example` lists them" : ""}`;
    faults.push({ where, message });
  }
}

const WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  "1": true,
  false: false,
  no: false,
  off: false,
  "0": false,
};

/** What cannot be read stays text, and is refused by its schema. */
function readText({ schema }: ConfigKey, text: string): Json {
  switch (typeOf(schema)) {
    case "integer":
    case "number":
      return /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : text;
    case "boolean":
      return WORDS[text.trim().toLowerCase()] ?? text;
    case "array":
      return text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "");
    default:
      return text;
  }
}

const typeOf = ({ type, anyOf }: JsonSchema): string | undefined => type ?? anyOf?.[0]?.type;

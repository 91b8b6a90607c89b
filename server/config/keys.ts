/** The keys of the configuration in a flat list, their settings, and faults in them. */
import type { TSchema } from "typebox";
import { validate } from "../../graphs/compiler/schema-check.ts";
import { Config } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";

export interface ConfigKey {
  readonly path: readonly string[];
  /** `http.tls_cert` */
  readonly name: string;
  /** `WINDHOVER_HTTP_TLS_CERT` */
  readonly variable: string;
  readonly schema: JsonSchema;
  readonly isSecret: boolean;
}

/** The part of JSON Schema that the configuration uses. */
export interface JsonSchema {
  readonly type?: string;
  readonly default?: unknown;
  readonly description?: string;
  readonly secret?: boolean;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly anyOf?: readonly (JsonSchema & { readonly const?: unknown })[];
}

export const PREFIX = "WINDHOVER_";

function listKeys(section: JsonSchema, above: readonly string[]): ConfigKey[] {
  return Object.entries(section.properties ?? {}).flatMap(([word, schema]) => {
    const path = [...above, word];
    if (schema.type === "object") return listKeys(schema, path);
    const variable = PREFIX + path.join("_").toUpperCase();
    return [{ path, name: path.join("."), variable, schema, isSecret: schema.secret === true }];
  });
}

export const CONFIG_KEYS: readonly ConfigKey[] = listKeys(Config as TSchema as JsonSchema, []);

/** Secrets that are not named like settings: of the database, and of the bucket (`storage.s3`). */
const CREDENTIALS = ["DATABASE_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/** For the environment of child processes, which need no secrets: `{ ...process.env, ...WITHOUT_SECRETS }`. */
export const WITHOUT_SECRETS: Readonly<Record<string, undefined>> = Object.fromEntries(
  [...CREDENTIALS, ...CONFIG_KEYS.filter(({ isSecret }) => isSecret).map(({ variable }) => variable)].map((name) => [
    name,
    undefined,
  ]),
);

export interface Origin {
  readonly kind: "default" | "file" | "environment";
  /** `default`, `windhover.yaml:3:9` or the name of a variable. */
  readonly where: string;
}

/** The value of a key, and its origin. */
export interface Setting {
  readonly key: ConfigKey;
  readonly value: Json;
  readonly origin: Origin;
}

/** Null if it is valid. Does not reveal secrets. */
export function checkSetting({ key, value }: Setting): string | null {
  const [error] = validate(key.schema, value);
  if (error === undefined) return null;
  const found = key.isSecret ? "something else" : error.found;
  const item = error.path.length === 0 ? "" : `, item ${Number(error.path[0]) + 1}`;
  return `${key.name}${item} is ${found}; expected ${error.expected}`;
}

/** With secrets masked. */
export function showValue({ key, value }: Setting): Json {
  if (typeof value !== "string") return value;
  if (!key.isSecret) return value;
  const masked = maskCredentials(value);
  return masked.includes("://") ? masked : "***";
}

/** What is wrong with the configuration: everything at once, each with its place. */
export interface ConfigFault {
  /** `windhover.yaml:3:9` or the name of a variable. */
  readonly where: string;
  readonly message: string;
}

export class ConfigFaults extends Error {
  override readonly name = "ConfigFaults";
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    const lines = faults.map(({ where, message }) => `${where}: ${message}`);
    super(`the configuration is not valid\n${lines.map((line) => `  ${line}`).join("\n")}`);
    this.faults = faults;
  }
}

/** A `windhover.yaml` with every key, commented out, at its default. */
export function writeExample(): string {
  const lines = [
    "# Windhover configuration. Uncomment the settings to change; environment variables override this file.",
  ];
  let open: readonly string[] = [];
  for (const key of CONFIG_KEYS) {
    const sections = key.path.slice(0, -1);
    const shared = sections.findIndex((word, depth) => word !== open[depth]);
    if (sections.length === 0 || shared === 0) lines.push("");
    if (shared !== -1)
      for (let depth = shared; depth < sections.length; depth += 1)
        lines.push(`${"  ".repeat(depth)}${sections[depth]}:`);
    open = sections;
    const indent = "  ".repeat(sections.length);
    lines.push(`${indent}# ${describe(key)}`, `${indent}# ${key.path.at(-1)}: ${JSON.stringify(key.schema.default)}`);
  }
  return lines.join("\n");
}

function describe({ schema, variable }: ConfigKey): string {
  const choices = schema.anyOf?.flatMap((choice) => ("const" in choice ? [String(choice.const)] : [])) ?? [];
  const among = choices.length === 0 ? "" : ` One of ${choices.join(", ")}.`;
  return `${schema.description ?? ""}${among} (${variable})`;
}

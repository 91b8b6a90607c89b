/** Every key of the configuration in one flat list, as the schema has them. */
import type { TSchema } from "typebox";
import { Config } from "../../schemas/config.ts";

export interface ConfigKey {
  readonly path: readonly string[];
  /** `http.tls_cert` */
  readonly name: string;
  /** `WINDHOVER_HTTP_TLS_CERT` */
  readonly variable: string;
  readonly schema: JsonSchema;
  readonly isSecret: boolean;
}

/** As much of JSON Schema as the configuration uses. */
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

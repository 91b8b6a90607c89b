import { validate } from "../../graphs/compiler/schema-check.ts";
import type { Json } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { ConfigKey } from "./keys.ts";

export interface Origin {
  readonly kind: "default" | "file" | "environment";
  /** `default`, `windhover.yaml:3:9` or the name of a variable. */
  readonly where: string;
}

/** The value of one key, and where it came from. */
export interface Setting {
  readonly key: ConfigKey;
  readonly value: Json;
  readonly origin: Origin;
}

/** Null when it fits. Says nothing of what is in a secret. */
export function judgeSetting({ key, value }: Setting): string | null {
  const [error] = validate(key.schema, value);
  if (error === undefined) return null;
  const found = key.isSecret ? "something else" : error.found;
  const item = error.path.length === 0 ? "" : `, item ${Number(error.path[0]) + 1}`;
  return `${key.name}${item} is ${found}; expected ${error.expected}`;
}

/** As it may be shown. */
export function showValue({ key, value }: Setting): Json {
  if (typeof value !== "string") return value;
  if (!key.isSecret) return value;
  const masked = maskCredentials(value);
  return masked.includes("://") ? masked : "***";
}

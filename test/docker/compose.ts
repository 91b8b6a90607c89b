/** Reads and checks compose files and the examples of their variables. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { parse } from "yaml";

export interface Service {
  readonly image: string;
  readonly profiles?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly secrets?: readonly string[];
  readonly user?: string;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly mem_limit?: string;
  readonly pids_limit?: number;
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly stop_grace_period?: string;
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
  readonly secrets: Readonly<Record<string, { readonly environment: string }>>;
}

export const readCompose = (text: string): Compose => parse(text, { merge: true });

/** Variable substitution of compose: `${A}`, `${A:-default}`, `${A:?error}`, `${A:+alternative}`. */
export const substitute = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$\{(\w+)(?::([-?+])([^}]*))?\}/g, (_, name: string, sign: string, word: string) => {
    const value = env[name] ?? "";
    if (sign === "+") return value === "" ? "" : word;
    if (value === "" && sign === "?") throw new Error(`${name} is not set: ${word}`);
    return value === "" && sign === "-" ? word : value;
  });

export const readExample = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...text.matchAll(/^#?([A-Z0-9_]+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]));

/** Mounted files exist below `folder`, volumes and secrets are declared, needed services exist. */
export function checkReferences(compose: Compose, folder: URL): void {
  for (const [name, { volumes = [], secrets = [], depends_on: needed = {} }] of Object.entries(compose.services)) {
    for (const volume of volumes) {
      const [source = ""] = volume.split(":");
      if (source.startsWith("./")) assert.ok(volume.endsWith(":ro") && existsSync(new URL(source, folder)), volume);
      else assert.ok(source in compose.volumes, `${name}: ${volume}`);
    }
    for (const secret of secrets) assert.ok(secret in compose.secrets, secret);
    for (const other of Object.keys(needed)) assert.ok(other in compose.services, other);
  }
}

/** The configuration: what the schema says, over it the file, over that the environment. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import { type ConfigFault, ConfigFaults } from "./fault.ts";
import { CONFIG_KEYS } from "./keys.ts";
import { readEnvironment } from "./read-environment.ts";
import { readConfigText } from "./read-file.ts";
import { judgeSense } from "./sense.ts";
import { judgeSetting, type Setting } from "./setting.ts";

export interface ConfigSources {
  /** A file that was named. Otherwise `windhover.yaml` in the folder, if it is there. */
  readonly file: string | null;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface LoadedConfig {
  readonly config: Config;
  /** In the order of the schema, every key once. */
  readonly settings: readonly Setting[];
  /** The file that was read, if one was. */
  readonly file: string | null;
}

const USUAL_FILE = "windhover.yaml";
const MOST_BYTES = 1_000_000;

/** Throws `ConfigFaults` with everything that is wrong. */
export function loadConfig({ file, folder, env }: ConfigSources): LoadedConfig {
  const faults: ConfigFault[] = [];
  const text = readText(file, folder, faults);
  const shown = file ?? USUAL_FILE;
  const written = text === null ? [] : readConfigText(shown, text, faults);
  const given = readEnvironment(env, faults);
  const chosen = new Map([...written, ...given].map((setting) => [setting.key.name, setting]));
  const unfit = new Set<string>();
  for (const setting of [...written, ...given]) {
    const message = judgeSetting(setting);
    if (message === null) continue;
    faults.push({ where: setting.origin.where, message });
    if (chosen.get(setting.key.name) !== setting) continue;
    unfit.add(setting.key.name);
    chosen.delete(setting.key.name); // so that the rest can be judged
  }
  const settings = CONFIG_KEYS.map((key) => absolute(chosen.get(key.name) ?? byDefault(key), folder));
  const config = nest(settings);
  faults.push(...judgeSense(config, (name) => chosen.get(name)?.origin.where ?? name, unfit));
  if (faults.length > 0) throw new ConfigFaults(faults);
  return { config, settings, file: text === null ? null : shown };
}

function readText(file: string | null, folder: string, faults: ConfigFault[]): string | null {
  try {
    const text = readFileSync(resolve(folder, file ?? USUAL_FILE), "utf8");
    if (text.length <= MOST_BYTES) return text;
    faults.push({ where: file ?? USUAL_FILE, message: "the file is too large; expected at most 1 MB of YAML" });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (file === null && code === "ENOENT") return null;
    const why = code === "ENOENT" ? "there is no such file" : `the file cannot be read: ${message}`;
    faults.push({ where: file ?? USUAL_FILE, message: why });
  }
  return null;
}

const byDefault = (key: Setting["key"]): Setting => ({
  key,
  value: (key.schema.default ?? null) as Json,
  origin: { kind: "default", where: "default" },
});

const PATHS = ["data_dir", "secrets.key_file", "http.tls_cert", "http.tls_key"];

/** Paths are meant from the working directory, whichever file they stand in. */
function absolute(setting: Setting, folder: string): Setting {
  if (!PATHS.includes(setting.key.name) || typeof setting.value !== "string") return setting;
  return { ...setting, value: resolve(folder, setting.value) };
}

function nest(settings: readonly Setting[]): Config {
  const root: Record<string, Json> = {};
  for (const { key, value } of settings) {
    const sections = key.path.slice(0, -1);
    const holder = sections.reduce<Record<string, Json>>((above, word) => {
      above[word] ??= {};
      return above[word] as Record<string, Json>;
    }, root);
    holder[key.path.at(-1) ?? ""] = value;
  }
  // Every value has been held against its schema.
  return root as unknown as Config;
}

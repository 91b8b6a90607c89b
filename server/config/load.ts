/** Loads the configuration: defaults of the schema, overridden by the file, overridden by the environment. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "../../schemas/config.ts";
import { SETTINGS_FILE } from "../../schemas/folders.ts";
import type { Json } from "../../schemas/json.ts";
import { checkConsistency } from "./consistency.ts";
import { CONFIG_KEYS, type ConfigFault, ConfigFaults, checkSetting, type Setting } from "./keys.ts";
import { readConfigText, readEnvironment } from "./read-settings.ts";

interface ConfigSources {
  /** Null: `windhover.yaml` in the folder, if it exists. */
  readonly file: string | null;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface LoadedConfig {
  readonly config: Config;
  /** In the order of the schema, every key once. */
  readonly settings: readonly Setting[];
  /** The file that was read, or null. */
  readonly file: string | null;
}

const MAX_BYTES = 1_000_000;

/** Throws `ConfigFaults` with all faults. */
export function loadConfig({ file, folder, env }: ConfigSources): LoadedConfig {
  const faults: ConfigFault[] = [];
  const text = readText(file, folder, faults);
  const shown = file ?? SETTINGS_FILE;
  const written = text === null ? [] : readConfigText(shown, text, faults);
  const given = readEnvironment(env, faults);
  const chosen = new Map([...written, ...given].map((setting) => [setting.key.name, setting]));
  const invalid = new Set<string>();
  for (const setting of [...written, ...given]) {
    const message = checkSetting(setting);
    if (message === null) continue;
    faults.push({ where: setting.origin.where, message });
    if (chosen.get(setting.key.name) !== setting) continue;
    invalid.add(setting.key.name);
    chosen.delete(setting.key.name); // so that the rest can be checked
  }
  const settings = CONFIG_KEYS.map((key) => absolute(chosen.get(key.name) ?? byDefault(key), folder));
  const config = nest(settings);
  faults.push(...checkConsistency(config, (name) => chosen.get(name)?.origin.where ?? name, invalid));
  if (faults.length > 0) throw new ConfigFaults(faults);
  return { config, settings, file: text === null ? null : shown };
}

function readText(file: string | null, folder: string, faults: ConfigFault[]): string | null {
  try {
    const text = readFileSync(resolve(folder, file ?? SETTINGS_FILE), "utf8");
    if (text.length <= MAX_BYTES) return text;
    faults.push({ where: file ?? SETTINGS_FILE, message: "the file is too large; expected at most 1 MB of YAML" });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (file === null && code === "ENOENT") return null;
    const why = code === "ENOENT" ? "the file does not exist" : `the file cannot be read: ${message}`;
    faults.push({ where: file ?? SETTINGS_FILE, message: why });
  }
  return null;
}

const byDefault = (key: Setting["key"]): Setting => ({
  key,
  value: (key.schema.default ?? null) as Json,
  origin: { kind: "default", where: "default" },
});

const PATHS = [
  ...["data_dir", "secrets.key_file", "http.tls_cert", "http.tls_key"],
  ...["graphs.folders", "elements.folders", "models.folders"],
];

/** Paths are relative to the working directory or the workspace, in the file as well. */
function absolute(setting: Setting, folder: string): Setting {
  if (!PATHS.includes(setting.key.name)) return setting;
  const { value } = setting;
  if (Array.isArray(value)) return { ...setting, value: value.map((path) => resolve(folder, String(path))) };
  return typeof value === "string" ? { ...setting, value: resolve(folder, value) } : setting;
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
  // Every value was checked against its schema.
  return root as unknown as Config;
}

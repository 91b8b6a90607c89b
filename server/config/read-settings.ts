/** Settings from `windhover.yaml`, each with its line and column, and from environment variables. */
import { isAlias, isMap, isScalar, LineCounter, type Node, parseAllDocuments, type YAMLMap } from "yaml";
import type { Json } from "../../schemas/json.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { CONFIG_KEYS, type ConfigFault, type ConfigKey, type JsonSchema, PREFIX, type Setting } from "./keys.ts";

/** @param file its name in messages */
export function readConfigText(file: string, text: string, faults: ConfigFault[]): readonly Setting[] {
  return new ConfigText(file, text, faults).read();
}

class ConfigText {
  readonly #file: string;
  readonly #text: string;
  readonly #faults: ConfigFault[];
  readonly #lines = new LineCounter();
  readonly #settings: Setting[] = [];

  constructor(file: string, text: string, faults: ConfigFault[]) {
    this.#file = file;
    this.#text = text;
    this.#faults = faults;
  }

  read(): readonly Setting[] {
    const documents = parseAllDocuments(this.#text, { lineCounter: this.#lines, prettyErrors: false });
    if (!Array.isArray(documents)) return []; // It is empty.
    const [document, second] = documents;
    const error = document?.errors[0];
    if (error !== undefined) this.#addFault(error.pos[0], `YAML: ${error.message}`);
    else if (second !== undefined) this.#addFault(second.range?.[0], "a second document starts here; expected one");
    else if (document !== undefined && document.contents !== null) this.#readSection(document.contents, []);
    return this.#settings;
  }

  #readSection(node: Node, above: readonly string[]): void {
    // A section whose keys are all commented out.
    if (isScalar(node) && node.value === null) return;
    if (!isMap(node)) {
      const what = above.length === 0 ? "the configuration" : above.join(".");
      this.#addFault(node.range?.[0], `${what} is not a map; expected keys with values: \`key: value\``);
      return;
    }
    for (const item of node.items) this.#readPair(item, above);
  }

  #readPair({ key, value }: YAMLMap["items"][number], above: readonly string[]): void {
    const at = (key as Node).range?.[0];
    const path = [...above, isScalar(key) ? String(key.value) : "?"];
    const known = CONFIG_KEYS.find(({ name }) => name === path.join("."));
    const node = value as Node | null;
    if (known === undefined) {
      if (!isSection(path)) this.#addFault(at, this.#explainUnknown(path));
      else if (node !== null) this.#readSection(node, path);
      return;
    }
    const where = this.#place(node?.range?.[0] ?? at);
    if (isAlias(node)) {
      this.#faults.push({ where, message: `${known.name} is an alias; expected the value itself` });
      return;
    }
    const read: Json = node === null ? null : (node as { toJSON(): Json }).toJSON();
    this.#settings.push({ key: known, value: read, origin: { kind: "file", where } });
  }

  #explainUnknown(path: readonly string[]): string {
    const above = path.slice(0, -1).join(".");
    const word = path.at(-1) ?? "";
    const names = namesBelow(path.slice(0, -1));
    const hint = didYouMean(word, names);
    const elsewhere = CONFIG_KEYS.find(({ path: other }) => other.at(-1) === word && other.length !== path.length);
    const advice =
      hint ||
      (elsewhere
        ? `; did you mean "${elsewhere.name}"?`
        : `; expected one of ${names.join(", ")}; other limits are fixed`);
    return `there is no setting "${above === "" ? "" : `${above}.`}${word}"${advice}`;
  }

  #addFault(offset: number | undefined, message: string): void {
    this.#faults.push({ where: this.#place(offset), message });
  }

  #place(offset = 0): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${this.#file}:${Math.max(1, line)}:${Math.max(1, col)}`;
  }
}

const isSection = (path: readonly string[]): boolean =>
  CONFIG_KEYS.some(({ name }) => name.startsWith(`${path.join(".")}.`));

const namesBelow = (path: readonly string[]): readonly string[] => {
  const inside = CONFIG_KEYS.filter(({ path: other }) => path.every((word, i) => other[i] === word));
  return [...new Set(inside.map(({ path: other }) => other[path.length] ?? ""))];
};

/** Variables that are not settings of the service: the cache of models, and those of builds and tests. */
export const OTHER_VARIABLES = [
  "WINDHOVER_CACHE_DIR",
  "WINDHOVER_ADDON",
  "WINDHOVER_CONFINED",
  "WINDHOVER_FOLDERS",
  "WINDHOVER_FROM_SOURCE",
  "WINDHOVER_KEY",
  "WINDHOVER_LEAK",
  "WINDHOVER_SEED",
  "WINDHOVER_SOAK",
  "WINDHOVER_TEST_APART",
  "WINDHOVER_TEST_ONCE",
  "WINDHOVER_TEST_PATIENCE",
] as const;

/** Set by database hosters. The WINDHOVER_ variable overrides it. */
const USUAL_NAMES: Readonly<Record<string, string>> = { "database.url": "DATABASE_URL" };

/** An empty variable counts as not set. */
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
    const message = `there is no such setting${hint}${hint === "" ? "; `windhover config --example` lists them; other limits are fixed" : ""}`;
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

/** Text that cannot be converted is rejected by the schema. */
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

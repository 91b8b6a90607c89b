/** Settings from `windhover.yaml`, each with its line and column. */
import { isAlias, isMap, isScalar, LineCounter, type Node, parseAllDocuments, type YAMLMap } from "yaml";
import type { Json } from "../../schemas/json.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import type { ConfigFault } from "./fault.ts";
import { CONFIG_KEYS } from "./keys.ts";
import type { Setting } from "./setting.ts";

/** @param file as it is shown in messages */
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
    if (!Array.isArray(documents)) return []; // Not a word in it.
    const [document, second] = documents;
    const error = document?.errors[0];
    if (error !== undefined) this.#refuse(error.pos[0], `YAML: ${error.message}`);
    else if (second !== undefined) this.#refuse(second.range?.[0], "a second document begins here; expected one");
    else if (document !== undefined && document.contents !== null) this.#readSection(document.contents, []);
    return this.#settings;
  }

  #readSection(node: Node, above: readonly string[]): void {
    // A section whose keys are all commented out.
    if (isScalar(node) && node.value === null) return;
    if (!isMap(node)) {
      const what = above.length === 0 ? "the configuration" : above.join(".");
      this.#refuse(node.range?.[0], `${what} is no map; expected keys, each with its value: \`key: value\``);
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
      if (!isSection(path)) this.#refuse(at, this.#explainUnknown(path));
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
    const advice = hint || (elsewhere ? `; did you mean "${elsewhere.name}"?` : `; there are ${names.join(", ")}`);
    return `there is no setting "${above === "" ? "" : `${above}.`}${word}"${advice}`;
  }

  #refuse(offset: number | undefined, message: string): void {
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

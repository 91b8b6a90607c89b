/** YAML text → located values. Aliases and merge keys are resolved; other YAML features that JSON lacks are faults. */
import {
  type Alias,
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  Parser,
  type Scalar,
  type YAMLMap,
} from "yaml";
import { FaultList } from "./fault.ts";
import { MAX_TEXT_BYTES, MAX_VALUES } from "./limits.ts";
import type { Located, LocatedEntry, LocatedScalar } from "./located.ts";
import type { Position } from "./plan.ts";
import { writtenOffset } from "./scalar-offset.ts";
import { adviseOnYaml, findExcess } from "./yaml-faults.ts";

/** The kind of document, for messages. */
interface Wanted {
  readonly noun: string;
  /** How it begins. */
  readonly begins: string;
}

const GRAPH: Wanted = { noun: "graph", begins: "a map that begins with `graph: NAME`" };

/** Texts without faults, the last ones: a graph is often compiled several times in a row. */
const recent = new Map<string, Located>();
const MAX_RECENT = 16;
const MAX_RECENT_CHARACTERS = 100_000;

/** Null when the text is not one YAML document; the faults say why. */
export function readYaml(file: string | null, text: string, faults: FaultList, wanted: Wanted = GRAPH): Located | null {
  const key = `${file ?? ""}\n${text}`;
  const known = recent.get(key);
  if (known !== undefined) return known;
  const own = new FaultList(file);
  const located = readText(file, text, own, wanted);
  faults.addAll(own.sorted());
  if (located === null || own.size > 0 || text.length > MAX_RECENT_CHARACTERS) return located;
  const [oldest] = recent.keys();
  if (recent.size >= MAX_RECENT && oldest !== undefined) recent.delete(oldest);
  recent.set(key, located);
  return located;
}

function readText(file: string | null, text: string, faults: FaultList, wanted: Wanted): Located | null {
  const start: Position = { file, line: 1, column: 1 };
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_TEXT_BYTES) {
    const found = `the text has ${(bytes / 1e6).toFixed(1)} MB, which is too large for a ${wanted.noun}`;
    faults.add("file_too_large", start, found, { expected: `at most ${MAX_TEXT_BYTES / 1e6} MB` });
    return null;
  }
  const lines = countLines(text);
  const locate = (offset: number): Position => {
    const { line, col } = lines.linePos(Math.max(0, Math.min(offset, text.length)));
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const control = text.search(/(?![\t\n\r])\p{Cc}|\ufffd/u);
  if (control >= 0) {
    const code = text.charCodeAt(control).toString(16).padStart(4, "0");
    faults.add("yaml_syntax", locate(control), `the file is not text: it holds the character U+${code}`, {
      expected: `a ${wanted.noun} in YAML, saved as UTF-8`,
    });
    return null;
  }
  const excess = findExcess(text);
  if (excess !== null) {
    faults.add("yaml_too_complex", locate(excess.offset), excess.message);
    return null;
  }
  const document = composeOne(text, locate, faults, wanted);
  if (document === null) return null;
  if (document.contents === null || isEmptyScalar(document.contents)) {
    faults.add("document_shape", start, "the document is empty", { expected: wanted.begins });
    return null;
  }
  return new YamlConverter(text, locate, faults).convert(document.contents);
}

function countLines(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
  return lines;
}

function composeOne(
  text: string,
  locate: (offset: number) => Position,
  faults: FaultList,
  { noun }: Wanted,
): Document | null {
  const composer = new Composer({ uniqueKeys: false, merge: true, prettyErrors: false });
  let only: Document | null = null;
  for (const document of composer.compose(new Parser().parse(text), true, text.length)) {
    const error = document.errors[0];
    if (error !== undefined) {
      // Later errors mostly follow from the first.
      faults.add("yaml_syntax", locate(error.pos[0]), `YAML: ${error.message}`, {
        expected: adviseOnYaml(error, text),
      });
      return null;
    }
    if (only !== null) {
      const offset = document.range?.[0] ?? 0;
      faults.add("document_shape", locate(offset), "a second document begins here", {
        expected: `one ${noun} a file, without \`---\` between parts`,
      });
      return null;
    }
    only = document;
  }
  return only;
}

function isEmptyScalar(node: Node): boolean {
  return isScalar(node) && node.value === null && (node.source ?? "") === "" && node.tag === undefined;
}

const ANCHOR_OPEN = Symbol("an anchor whose value is not complete");

/** YAML nodes → located values. An alias shares the value it names, but counts as a copy. */
class YamlConverter {
  readonly #text: string;
  readonly #locate: (offset: number) => Position;
  readonly #faults: FaultList;
  readonly #anchors = new Map<string, Located | typeof ANCHOR_OPEN>();
  readonly #sizes = new WeakMap<Located, number>();
  #values = 0;
  #exhausted = false;

  constructor(text: string, locate: (offset: number) => Position, faults: FaultList) {
    this.#text = text;
    this.#locate = locate;
    this.#faults = faults;
  }

  /** Null when the document is too large with its aliases resolved. */
  convert(root: Node): Located | null {
    const located = this.#value(root, this.#locate(root.range?.[0] ?? 0));
    return this.#exhausted ? null : located;
  }

  #value(node: unknown, around: Position): Located {
    if (this.#exhausted) return { kind: "scalar", at: around, value: null };
    if (isAlias(node)) return this.#alias(node, around);
    if (!isMap(node) && !isSeq(node) && !isScalar(node))
      return this.#count({ kind: "scalar", at: around, value: null }, 1);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, ANCHOR_OPEN);
    const located = this.#plain(node, this.#positionOf(node, around));
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, located);
    return located;
  }

  // An empty value (`about:`) has a range after its key, possibly on a later line.
  #positionOf(node: Node, around: Position): Position {
    if (node.range == null || node.range[0] === node.range[1]) return around;
    return this.#locate(node.range[0]);
  }

  #plain(node: Node, at: Position): Located {
    if (isSeq(node)) {
      const items = node.items.map((item) => this.#value(item, at));
      return this.#count({ kind: "list", at, items }, 1 + this.#sum(items));
    }
    if (isMap(node)) {
      const entries = this.#entries(node, at);
      return this.#count({ kind: "map", at, entries }, 1 + this.#sum(entries.map((entry) => entry.value)));
    }
    return this.#count(this.#scalar(node as Scalar, at), 1);
  }

  #scalar(node: Scalar, at: Position): LocatedScalar {
    const { value, tag } = node;
    if (tag !== undefined && !tag.startsWith("tag:yaml.org,2002:")) {
      // In `when: !flag` YAML reads a tag; the author means "not flag".
      if (value === "" || value === null) return { kind: "scalar", at, value: tag };
      this.#faults.add("document_shape", at, `the YAML tag ${tag} is not supported`, { expected: "a plain value" });
      return { kind: "scalar", at, value: null };
    }
    if (typeof value === "string") return { kind: "scalar", at, value, inside: this.#inside(node, value) };
    if (value === null || typeof value === "boolean") return { kind: "scalar", at, value };
    if (typeof value === "number" && Number.isFinite(value)) return { kind: "scalar", at, value };
    const found =
      typeof value === "number" ? `${node.source ?? value} is not a JSON number` : "a value that is not JSON";
    this.#faults.add("document_shape", at, found, { expected: "text, a finite number, true, false or null" });
    return { kind: "scalar", at, value: null };
  }

  #inside({ range }: Scalar, value: string): (offset: number) => Position {
    const [start, end] = range ?? [0, 0];
    return (offset) => this.#locate(start + writtenOffset(this.#text.slice(start, end), value, offset));
  }

  #entries(map: YAMLMap, at: Position): readonly LocatedEntry[] {
    const own = new Map<string, LocatedEntry>();
    const merged = new Map<string, LocatedEntry>();
    for (const { key, value } of map.items) {
      if (!isScalar(key)) {
        const where = isMap(key) || isSeq(key) || isAlias(key) ? this.#locate(key.range?.[0] ?? 0) : at;
        this.#faults.add("document_shape", where, "a key must be a name", { expected: "`name: value`" });
        continue;
      }
      const keyAt = this.#positionOf(key, at);
      const name = typeof key.value === "symbol" ? "<<" : (key.source ?? String(key.value ?? ""));
      const entry = { key: name, at: keyAt, value: this.#value(value, keyAt) };
      if (name === "<<" && key.type === "PLAIN") {
        for (const inherited of this.#merge(entry))
          if (!merged.has(inherited.key)) merged.set(inherited.key, inherited);
      } else if (own.has(name)) {
        const first = own.get(name)?.at.line;
        this.#faults.add("document_shape", keyAt, `duplicate key "${name}"; the first is on line ${first}`, {
          expected: "each key once",
        });
      } else {
        own.set(name, entry);
      }
    }
    return [...own.values(), ...[...merged.values()].filter((entry) => !own.has(entry.key))];
  }

  #merge({ value, at }: LocatedEntry): readonly LocatedEntry[] {
    const sources = value.kind === "list" ? value.items : [value];
    return sources.flatMap((source) => {
      if (this.#exhausted) return [];
      if (source.kind === "map") {
        this.#spend(source.entries.length, at);
        return source.entries;
      }
      this.#faults.add("document_shape", at, "`<<` merges maps", {
        expected: "`<<: *anchor` of a map, or a list of such",
      });
      return [];
    });
  }

  #alias(alias: Alias, around: Position): Located {
    const at = this.#positionOf(alias, around);
    const found = this.#anchors.get(alias.source);
    if (found !== undefined && found !== ANCHOR_OPEN) {
      this.#spend(this.#sizes.get(found) ?? 1, at);
      return found;
    }
    if (found === ANCHOR_OPEN) {
      this.#faults.add("yaml_too_complex", at, `*${alias.source} is inside the value it names`, {
        expected: "no alias of itself",
      });
    } else {
      this.#faults.add("yaml_syntax", at, `no anchor &${alias.source} comes before this alias`, {
        expected: "an anchor further up, or quotes around a text that begins with *",
      });
    }
    return { kind: "scalar", at, value: null };
  }

  #count<T extends Located>(located: T, size: number): T {
    this.#sizes.set(located, size);
    this.#spend(1, located.at);
    return located;
  }

  #sum(values: readonly Located[]): number {
    return values.reduce((sum, value) => sum + (this.#sizes.get(value) ?? 1), 0);
  }

  #spend(values: number, at: Position): void {
    this.#values += values;
    if (this.#values <= MAX_VALUES || this.#exhausted) return;
    this.#exhausted = true;
    const found = "the document has too many values with its aliases (*name) resolved";
    this.#faults.add("yaml_too_complex", at, found, { expected: `at most ${MAX_VALUES} values` });
  }
}

import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from "yaml";
import type { FaultList } from "./fault-list.ts";
import { MAX_VALUES } from "./limits.ts";
import type { Located, LocatedEntry, LocatedScalar } from "./located.ts";
import type { Position } from "./plan.ts";

const ANCHOR_OPEN = Symbol("an anchor whose value is still being read");

/** YAML nodes → located values. An alias shares the value it names; what it would cost to copy it is counted. */
export class YamlConverter {
  readonly #locate: (offset: number) => Position;
  readonly #faults: FaultList;
  readonly #anchors = new Map<string, Located | typeof ANCHOR_OPEN>();
  readonly #sizes = new WeakMap<Located, number>();
  #values = 0;
  #exhausted = false;

  constructor(locate: (offset: number) => Position, faults: FaultList) {
    this.#locate = locate;
    this.#faults = faults;
  }

  /** Null when the document is too large once its aliases are followed. */
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

  // An empty value (`about:`) has its place after the key, which may be a line further down.
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
      // `when: !flag` is a tag to YAML; to an author it is "not flag".
      if (value === "" || value === null) return { kind: "scalar", at, value: tag };
      this.#faults.add("document_shape", at, `the YAML tag ${tag} has no meaning here`, { expected: "a plain value" });
      return { kind: "scalar", at, value: null };
    }
    if (value === null || typeof value === "boolean" || typeof value === "string") return { kind: "scalar", at, value };
    if (typeof value === "number" && Number.isFinite(value)) return { kind: "scalar", at, value };
    const found =
      typeof value === "number"
        ? `${node.source ?? value} is not a number that JSON knows`
        : "a value that is not JSON";
    this.#faults.add("document_shape", at, found, { expected: "text, a finite number, true, false or null" });
    return { kind: "scalar", at, value: null };
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
        this.#faults.add("document_shape", keyAt, `the key "${name}" is there twice; the first is on line ${first}`, {
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
      this.#faults.add("yaml_too_complex", at, `*${alias.source} stands inside the value it names`, {
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
    this.#faults.add(
      "yaml_too_complex",
      at,
      "the document holds too many values once its aliases (*name) are followed",
      {
        expected: `at most ${MAX_VALUES} values`,
      },
    );
  }
}

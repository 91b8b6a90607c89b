/**
 * Where a position in the text of a graph is: the keys around it. The text is being written and need not be valid YAML, so
 * this follows indentation and brackets only. Pure.
 */

/** Keys from the outermost to the innermost; `-` for an entry of a list. */
export type KeyPath = readonly string[];

export interface TextPlace {
  readonly path: KeyPath;
  /** Behind a key and its colon, or in an entry of a list; otherwise a key is being written. */
  readonly isValue: boolean;
  /** What is written of the key or value, up to the position. */
  readonly written: string;
}

export interface WrittenKey {
  /** Of the map that it is in. */
  readonly path: KeyPath;
  readonly key: string;
  /** A value on the same line, without quotes; empty for maps and lists. */
  readonly value: string;
}

interface Level {
  readonly indent: number;
  readonly key: string;
}

/** Of a map or list in brackets. */
interface Bracket {
  readonly kind: "map" | "list";
  /** Null while it is being written. */
  key: string | null;
  written: string;
}

const ENTRY = "-";
const KEY = /^("[^"]*"|'[^']*'|[^\s"'{}[\],#][^:{}[\],#]*):(?=\s|$)/;

export const placeAt = (text: string, at: number): TextPlace => new Reader(text.slice(0, at)).place;

export const listKeys = (text: string): readonly WrittenKey[] => new Reader(text).keys;

const unquote = (text: string): string => text.trim().replace(/^(["'])(.*)\1$/, "$2");

class Reader {
  readonly keys: WrittenKey[] = [];
  #levels: Level[] = [];
  readonly #brackets: Bracket[] = [];
  #written = "";
  #isValue = false;
  /** The quote that is open. */
  #quote: string | null = null;

  constructor(text: string) {
    for (const line of text.split("\n")) this.#readLine(line);
  }

  get place(): TextPlace {
    const bracket = this.#brackets.at(-1);
    if (bracket === undefined) return { path: this.#path, isValue: this.#isValue, written: this.#written };
    return {
      path: this.#path,
      isValue: bracket.kind === "list" || bracket.key !== null,
      written: bracket.written.trimStart(),
    };
  }

  get #path(): KeyPath {
    const inner = this.#brackets.flatMap(({ kind, key }) => (kind === "list" ? [ENTRY] : key === null ? [] : [key]));
    return [...this.#levels.map(({ key }) => key), ...inner];
  }

  #readLine(line: string): void {
    if (this.#brackets.length > 0) this.#readFlow(line);
    else this.#readBlock(line);
  }

  #readBlock(line: string): void {
    const content = line.trimStart();
    let indent = line.length - content.length;
    this.#written = "";
    this.#isValue = content.startsWith("#");
    if (this.#isValue) return;
    const isEntry = /^-(\s|$)/.test(content);
    // Entries of a list may have the indentation of its key.
    this.#levels = this.#levels.filter(
      (level) => level.indent < indent || (isEntry && level.indent === indent && level.key !== ENTRY),
    );
    let rest = content;
    while (/^-(\s|$)/.test(rest)) {
      this.#levels.push({ indent, key: ENTRY });
      const inner = rest.slice(1).trimStart();
      indent += rest.length - inner.length;
      rest = inner;
      this.#isValue = true;
    }
    const [, key] = KEY.exec(rest) ?? [];
    if (key === undefined) {
      this.#readValue(rest);
      return;
    }
    const value = rest.slice(key.length + 1).trim();
    this.#addKey(unquote(key), /^[{[]/.test(value) ? "" : value);
    this.#levels.push({ indent, key: unquote(key) });
    this.#isValue = true;
    this.#readValue(rest.slice(key.length + 1).trimStart());
  }

  #readValue(text: string): void {
    if (/^[{[]/.test(text)) this.#readFlow(text);
    else this.#written = text;
  }

  #addKey(key: string, value: string): void {
    this.keys.push({ path: this.#path, key, value: unquote(value.replace(/\s#.*/, "")) });
  }

  #readFlow(text: string): void {
    for (const [index, letter] of [...text].entries()) {
      const bracket = this.#brackets.at(-1);
      if (this.#quote !== null || letter === '"' || letter === "'") {
        if (this.#quote === letter) this.#quote = null;
        else this.#quote ??= letter;
        if (bracket !== undefined) bracket.written += letter;
      } else if (letter === "{" || letter === "[") {
        this.#brackets.push({ kind: letter === "{" ? "map" : "list", key: null, written: "" });
      } else if (letter === "}" || letter === "]") {
        this.#endFlowValue();
        this.#brackets.pop();
        if (this.#brackets.length === 0) return;
      } else if (bracket === undefined) {
        return;
      } else if (letter === ",") {
        this.#endFlowValue();
        bracket.key = null;
        bracket.written = "";
      } else if (
        letter === ":" &&
        bracket.kind === "map" &&
        bracket.key === null &&
        /^(\s|$)/.test(text.slice(index + 1))
      ) {
        bracket.key = unquote(bracket.written);
        bracket.written = "";
      } else bracket.written += letter;
    }
  }

  #endFlowValue(): void {
    const bracket = this.#brackets.at(-1);
    if (bracket?.kind !== "map" || bracket.key === null) return;
    const { key, written } = bracket;
    bracket.key = null;
    this.#addKey(key, written);
  }
}

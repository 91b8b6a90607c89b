/** Faults of YAML text: limits checked before the parser runs, and advice on its syntax errors. */

import { CST, type ErrorCode, Lexer, type YAMLError } from "yaml";
import { MAX_DEPTH, MAX_TOKENS } from "./limits.ts";

/**
 * Where the text exceeds the limits of nesting or size, or null. Checked before parsing: the parser is recursive, and a
 * stack overflow in it can abort the whole process (V8 aborts when it must compile a regular expression on a full
 * stack), which no `try` catches. The lexer is lazy, so reading tokens one by one and stopping early is safe.
 */
export function findExcess(text: string): { readonly offset: number; readonly message: string } | null {
  // Every nested block begins in a column further right than its parent.
  const columns: number[] = [];
  let flowDepth = 0;
  let indicatorsInARow = 0;
  let offset = 0;
  let lineStart = 0;
  let lineIsBlank = true;
  let tokens = 0;

  for (const token of new Lexer().lex(text)) {
    const type = CST.tokenType(token);
    const start = offset;
    if (++tokens > MAX_TOKENS) return { offset: start, message: "the text is too large for one graph" };
    if (token !== CST.DOCUMENT && token !== CST.FLOW_END && token !== CST.SCALAR) offset += token.length;
    switch (type) {
      case "newline":
        lineStart = offset;
        lineIsBlank = true;
        indicatorsInARow = 0;
        continue;
      case "space":
      case "comment":
        continue;
      case "flow-seq-start":
      case "flow-map-start":
        flowDepth++;
        break;
      case "flow-seq-end":
      case "flow-map-end":
        flowDepth = Math.max(0, flowDepth - 1);
        break;
      case "tag":
      case "anchor":
      case "seq-item-ind":
      case "explicit-key-ind":
      case "map-value-ind":
        indicatorsInARow++;
        break;
      case "doc-start":
      case "doc-end":
        columns.length = 0;
        flowDepth = 0;
        break;
      default:
        indicatorsInARow = 0;
    }
    const opensBlock = type === "seq-item-ind" || type === "explicit-key-ind" || type === "map-value-ind";
    if (flowDepth === 0 && (lineIsBlank || opensBlock)) {
      const column = start - lineStart;
      while ((columns.at(-1) ?? -1) >= column) columns.pop();
      columns.push(column);
    }
    lineIsBlank = false;
    // A key and its colon have a column each, so blocks may count twice.
    if (flowDepth > MAX_DEPTH || columns.length > 2 * MAX_DEPTH || indicatorsInARow > MAX_DEPTH) {
      return { offset: start, message: `the text nests too deeply, more than ${MAX_DEPTH} levels` };
    }
    if (token.includes("\n")) lineStart = start + token.lastIndexOf("\n") + 1;
  }
  return null;
}

export const ALIGNED_STEPS = "the steps of a chain exactly below each other: each `-` in the same column";
const ALIGNED_KEYS = "keys of one map exactly below each other, and what belongs to a key indented further than it";
const ONE_PAIR =
  "one `key: value` a line, properties in braces (`queue: { leaky: no }`), and quotes around a text with `: ` in it";
const SPACES = "spaces, not tabs, at the start of a line";

const ADVICE: Partial<Readonly<Record<ErrorCode, string>>> = {
  ALIAS_PROPS: "an alias alone: `*name`",
  BAD_ALIAS: "a name after `*`; a text that begins with * needs quotes",
  BAD_DQ_ESCAPE: "single quotes, or `\\\\` for a backslash between double quotes",
  BAD_SCALAR_START: "quotes around a text that begins with this character",
  BLOCK_IN_FLOW: "a `]` or `}` for every `[` or `{`, and no `-` list between them",
  DUPLICATE_KEY: "each key once",
  MULTILINE_IMPLICIT_KEY: "`key: value` on one line; is a `:` missing here?",
  TAB_AS_INDENT: SPACES,
  TAG_RESOLVE_FAILED: "no tag; a text that begins with ! needs quotes",
};

/** How to fix a syntax error; the parser's own message is for authors of parsers. */
export function adviseOnYaml({ code, message, pos }: YAMLError, text: string): string | undefined {
  const line = lineAt(text, pos[0]);
  if (line.includes("${")) return `quotes around a text with \${…} between braces: { path: "\${name}.mp4" }`;
  if (/^\s*\t/.test(line)) return SPACES;
  switch (code) {
    case "BLOCK_AS_IMPLICIT_KEY":
      if ((line.match(/:(?=\s)/g)?.length ?? 0) > 1) return ONE_PAIR;
      return adviseOnIndent(line);
    case "MISSING_CHAR":
    case "BAD_INDENT":
    case "UNEXPECTED_TOKEN":
      if (/quote/i.test(message)) return "a closing quote for every opening one, of the same kind";
      return hasOpenBracket(text.slice(0, pos[0])) ? "a `]` or `}` for every `[` or `{`" : adviseOnIndent(line);
    default:
      return ADVICE[code];
  }
}

const adviseOnIndent = (line: string): string => (/^\s*-(\s|$)/.test(line) ? ALIGNED_STEPS : ALIGNED_KEYS);

const lineAt = (text: string, offset: number): string =>
  text.slice(text.lastIndexOf("\n", offset - 1) + 1).split("\n", 1)[0] ?? "";

/** Also counts brackets in quotes and comments: it only decides between two hints. */
function hasOpenBracket(text: string): boolean {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  return count(/[[{]/g) > count(/[\]}]/g);
}

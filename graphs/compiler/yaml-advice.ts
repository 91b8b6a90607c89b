/** What to do about a YAML syntax error: the parser says what it met in words for people who write parsers. */
import type { ErrorCode, YAMLError } from "yaml";

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

/** Brackets in quoted texts and comments are counted too: it decides between two hints, nothing else. */
function hasOpenBracket(text: string): boolean {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  return count(/[[{]/g) > count(/[\]}]/g);
}

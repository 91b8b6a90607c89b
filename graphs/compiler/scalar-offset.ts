/**
 * Positions inside a text of a YAML document. The value differs from what is written: quotes, escapes, doubled quotes, the
 * header and indentation of block texts, and lines that are folded into one.
 */

/** A character that is written otherwise: `\n`, `\x41`, a line break after a backslash, `''`. */
const ESCAPE = /\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|\r?\n[ \t]*|.)/y;

/** The offset in `written`, as it is in the document, of the character at `offset` of its value. */
export function writtenOffset(written: string, value: string, offset: number): number {
  const quote = written.startsWith('"') || written.startsWith("'") ? written.charAt(0) : null;
  const isBlock = quote === null && /^[|>]/.test(written);
  let at = isBlock ? written.indexOf("\n") + 1 : quote === null ? 0 : 1;
  for (let index = 0; ; index++) {
    at = skipFolds(written, at, value.charAt(index), quote);
    if (index >= offset || index >= value.length || at >= written.length) return Math.min(at, written.length);
    at += lengthAt(written, at, value.charAt(index), quote);
  }
}

/** White space that stands for nothing, or for the one space or line break that follows in the value. */
function skipFolds(written: string, at: number, next: string, quote: string | null): number {
  let from = at;
  if (quote === '"')
    for (let skipped = /\\\r?\n[ \t]*/y; ; from = skipped.lastIndex) {
      skipped.lastIndex = from;
      if (!skipped.test(written)) break;
    }
  if (next === " " || next === "\n") {
    const fold = /[ \t]*\r?\n\s*/y;
    fold.lastIndex = from;
    // The last character of the fold stands for it.
    return fold.test(written) ? Math.max(from, fold.lastIndex - 1) : from;
  }
  const space = /\s*/y;
  space.lastIndex = from;
  space.test(written);
  return written.charAt(space.lastIndex) === next || /\s/.test(written.charAt(from)) ? space.lastIndex : from;
}

function lengthAt(written: string, at: number, character: string, quote: string | null): number {
  const isEscape = quote === '"' && written.charAt(at) === "\\";
  if (isEscape) {
    ESCAPE.lastIndex = at;
    return ESCAPE.exec(written)?.[0].length ?? 1;
  }
  // An earlier fold has taken this white space.
  if (/\s/.test(character) && !/\s/.test(written.charAt(at))) return 0;
  return quote === "'" && written.startsWith("''", at) ? 2 : 1;
}

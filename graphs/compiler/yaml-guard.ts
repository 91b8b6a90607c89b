/**
 * Refuses text that nests too deeply or never ends, before the YAML parser sees it. The parser composes by recursion, and running out
 * of stack there can abort the whole process (V8 gives up when it must compile a regular expression on a full stack),
 * so no `try` around it would help. The lexer is lazy: reading its tokens one by one and stopping early is safe.
 */
import { CST, Lexer } from "yaml";
import { MAX_DEPTH, MAX_TOKENS } from "./limits.ts";

export interface Excess {
  readonly offset: number;
  readonly message: string;
}

/** Where the text becomes more than a graph can need, or null. */
export function findExcess(text: string): Excess | null {
  // Every nested block begins in a column further right than the one around it.
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
    if (++tokens > MAX_TOKENS) return { offset: start, message: "the text holds too much for one graph" };
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
    // A key and its colon take a column each, so blocks may count twice.
    if (flowDepth > MAX_DEPTH || columns.length > 2 * MAX_DEPTH || indicatorsInARow > MAX_DEPTH) {
      return { offset: start, message: `the text nests too deeply, more than ${MAX_DEPTH} levels` };
    }
    if (token.includes("\n")) lineStart = start + token.lastIndexOf("\n") + 1;
  }
  return null;
}

/** Text → values with positions. Aliases and merge keys are followed; everything else YAML has beyond JSON is a fault. */
import { Composer, type Document, isScalar, LineCounter, type Node, Parser } from "yaml";
import type { FaultList } from "./fault-list.ts";
import { MAX_TEXT_BYTES } from "./limits.ts";
import type { Located } from "./located.ts";
import type { Position } from "./plan.ts";
import { adviseOnYaml } from "./yaml-advice.ts";
import { findExcess } from "./yaml-guard.ts";
import { YamlConverter } from "./yaml-values.ts";

/** What the text is to be, in the words of faults. */
interface Wanted {
  readonly noun: string;
  /** What a document of it is or begins with. */
  readonly begins: string;
}

const GRAPH: Wanted = { noun: "graph", begins: "a map that begins with `graph: NAME`" };

/** Null when the text is not one YAML document; the faults say why. */
export function readYaml(file: string | null, text: string, faults: FaultList, wanted: Wanted = GRAPH): Located | null {
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
  return new YamlConverter(locate, faults).convert(document.contents);
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
      // What follows the first error is mostly its echo.
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

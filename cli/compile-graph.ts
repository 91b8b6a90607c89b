/** From the words of a command line to a compiled graph. */
import type { SourceBinding } from "../elements/element.ts";
import { type Compiled, type CompileInput, compile } from "../graphs/compiler/compile.ts";
import { coerceParams } from "../graphs/compiler/schema-check.ts";
import type { JsonRecord } from "../schemas/json.ts";
import type { GraphWords } from "./arguments.ts";
import { expectParams, expectSource } from "./command-line-faults.ts";
import type { GraphFiles } from "./graph-files.ts";
import type { Knowledge } from "./knowledge.ts";

/** Throws `GraphFaults` for a file that cannot be read and `UsageFault` for wrong words; faults of the graph are in the result. */
export function compileGraph(
  files: GraphFiles,
  words: Pick<GraphWords, "params">,
  input: Knowledge & { readonly source: SourceBinding | null; readonly mode?: CompileInput["mode"] },
): Compiled {
  const text = files.read();
  if (input.source !== null) expectSource(input.source.uri, input.registry);
  const read = (params: JsonRecord, mode: CompileInput["mode"] = "run"): Compiled =>
    compile(text, { ...input, load: files.loader(), params, mode });
  if (Object.keys(words.params).length === 0) return read({}, input.mode);
  // The graph itself says of which type its parameters are.
  const { paramSchema } = read({}, "check");
  const compiled = read(coerceParams(paramSchema, words.params), input.mode);
  expectParams(compiled.faults, words.params);
  return compiled;
}

/** `--pace` holds for a source that the graph itself names as well. */
export function compileAtPace(
  compileOn: (source: SourceBinding | null) => Compiled,
  uri: string | null,
  pace: "realtime" | "fast" | null,
): Compiled {
  if (pace === null) return compileOn(uri === null ? null : { uri });
  if (uri !== null) return compileOn({ uri, pace });
  const compiled = compileOn(null);
  const named = compiled.plan?.source;
  return named ? compileOn({ uri: named.uri, pace }) : compiled;
}

/** From `GRAPH [SOURCE] [param=value…]` to a compiled graph. */
import { type Elements, ExpandFault, type SourceBinding } from "../elements/element.ts";
import type { LoadedElements } from "../elements/index.ts";
import { expandSource } from "../elements/source/expand.ts";
import { describeSource } from "../elements/source/uri.ts";
import { type Compiled, type CompileInput, compile } from "../graphs/compiler/compile.ts";
import { type Fault, GraphFaults } from "../graphs/compiler/fault.ts";
import type { GraphPlan } from "../graphs/compiler/plan.ts";
import { coerceParams } from "../graphs/compiler/schema-check.ts";
import type { JsonRecord } from "../schemas/json.ts";
import { maskCredentials } from "../schemas/mask.ts";
import type { Registry } from "../schemas/registry.ts";
import { UsageFault } from "./command.ts";
import { showFaults, type TextOf } from "./faults.ts";
import { GraphFiles, locateGraph } from "./graph-files.ts";
import type { Terminal } from "./terminal.ts";

const ASSIGNMENT = /^([A-Za-z][\w-]*)=(.*)$/s;

export interface GraphWords {
  readonly graph: string;
  readonly source: string | null;
  readonly params: Readonly<Record<string, string>>;
}

/** The source is the one word after GRAPH that is not an assignment. */
export function readGraphWords(positionals: readonly string[]): GraphWords {
  const [graph, ...rest] = positionals;
  if (graph === undefined) throw new UsageFault("missing: the GRAPH, a file or the name of a template");
  const [source, extra] = rest.filter((word) => !ASSIGNMENT.test(word));
  if (extra !== undefined)
    throw new UsageFault(
      `unexpected argument "${extra}": the source is "${source}" already; parameters are written name=value`,
    );
  return { graph, source: source ?? null, params: readAssignments(rest.filter((word) => ASSIGNMENT.test(word))) };
}

function readAssignments(words: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const word of words) {
    const [, name = "", value = ""] = ASSIGNMENT.exec(word) ?? [];
    if (name === "") throw new UsageFault(`"${word}" is not a parameter; expected name=value`);
    if (Object.hasOwn(params, name)) throw new UsageFault(`the parameter ${name} is given twice`);
    params[name] = value;
  }
  return params;
}

/** `recording:path=a.mp4,bitrate=800`: a comma ends a value only where the next `name=` follows. */
export function readSlotWords(text: string): {
  readonly slot: string;
  readonly params: Readonly<Record<string, string>>;
} {
  const [slot = "", rest = ""] = text.split(/:(.*)/s);
  if (slot === "") throw new UsageFault(`--attach is "${text}"; expected SLOT or SLOT:name=value,name=value`);
  return { slot, params: readAssignments(rest === "" ? [] : rest.split(/,(?=[A-Za-z][\w-]*=)/)) };
}

/** What graphs are compiled against: the elements of this checkout and the GStreamer registry of this machine. */
export interface Knowledge {
  readonly elements: Elements;
  readonly registry: Registry;
}

/** The same, with elements that can be loaded again. */
export interface LoadedKnowledge extends Knowledge {
  readonly elements: LoadedElements;
}

/** Elements that could not be loaded are reported on `terminal`, if there is one. */
export async function loadKnowledge(terminal: Terminal | null): Promise<LoadedKnowledge> {
  const [{ loadElements, omitTaken }, { loadRegistry }] = await Promise.all([
    import("../elements/index.ts"),
    import("../graphs/runtime/registry.ts"),
  ]);
  const registry = loadRegistry();
  const elements = omitTaken(await loadElements(), registry);
  for (const { name, place, reason } of terminal === null ? [] : elements.broken.values()) {
    if (terminal?.isJson) terminal.say(JSON.stringify({ type: "broken-element", name, place, reason }));
    else terminal?.say(`${terminal.paintErr("yellow", `${place}:`)} ${reason}; the element "${name}" is left out`);
  }
  return { elements, registry };
}

/**
 * Throws `GraphFaults` for a file that cannot be read and `UsageFault` for a wrong SOURCE or parameter. Other faults of
 * the graph are in the result.
 */
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
  // The types of the parameters are declared in the graph.
  const { paramSchema } = read({}, "check");
  const compiled = read(coerceParams(paramSchema, words.params), input.mode);
  expectParams(compiled.faults, words.params);
  return compiled;
}

/** Reports a bad SOURCE as an error of the command line, not of the graph. */
export function expectSource(uri: string, registry: Registry): void {
  try {
    expandSource(describeSource(uri), {}, registry);
  } catch (error) {
    if (!(error instanceof ExpandFault)) throw error;
    // Some messages begin with the URI.
    const subject = error.message.startsWith('"') ? "SOURCE" : `SOURCE ${maskCredentials(uri)}:`;
    throw new UsageFault(`${subject} ${error.message}`, { cause: error });
  }
}

/** The same for parameters given on the command line. */
export function expectParams(faults: readonly Fault[], given: Readonly<Record<string, string>>): void {
  const wrong = faults.flatMap(({ code, message, expected, suggestion }) => {
    if (code !== "bad_param" && code !== "unknown_param") return [];
    const name = Object.keys(given).find((candidate) => message.includes(`"${candidate}"`));
    if (name === undefined) return [];
    const hints = [expected && `; expected ${expected}`, suggestion && `; did you mean "${suggestion}"?`];
    return [`${name}=${given[name]}: ${message}${hints.filter(Boolean).join("")}`];
  });
  if (wrong.length > 0) throw new UsageFault(wrong.join("\n"));
}

/** `--pace` also applies to a source that the graph itself names. */
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

/** Shows the faults of the graph. Null when it could not be read. */
export function compileOrShow(compileIt: () => Compiled, textOf: TextOf, terminal: Terminal): Compiled | null {
  try {
    const compiled = compileIt();
    showFaults(compiled.faults, textOf, terminal);
    return compiled;
  } catch (error) {
    if (!(error instanceof GraphFaults)) throw error;
    showFaults(error.faults, textOf, terminal);
    return null;
  }
}

/** The plan of a graph that is shown, not run: parameters may be missing. Null when it has faults, which were shown. */
export async function planGraph(words: GraphWords, terminal: Terminal): Promise<GraphPlan | null> {
  const files = new GraphFiles(locateGraph(words.graph));
  const source = words.source === null ? null : { uri: words.source };
  const input = { ...(await loadKnowledge(terminal)), source, mode: "check" } as const;
  return compileOrShow(() => compileGraph(files, words, input), files.textOf, terminal)?.plan ?? null;
}

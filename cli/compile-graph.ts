/** From the words of a command line to a compiled graph. */
import { type Elements, ExpandFault, type SourceBinding } from "../elements/element.ts";
import { expandSource } from "../elements/source/expand.ts";
import { describeSource } from "../elements/source/uri.ts";
import { coerceParams } from "../graphs/compiler/coerce.ts";
import { type Compiled, type CompileInput, compile } from "../graphs/compiler/compile.ts";
import { type Fault, GraphFaults } from "../graphs/compiler/fault.ts";
import type { GraphPlan } from "../graphs/compiler/plan.ts";
import type { JsonRecord } from "../schemas/json.ts";
import { maskCredentials } from "../schemas/mask.ts";
import type { Registry } from "../schemas/registry.ts";
import { UsageFault } from "./command.ts";
import { showFaults } from "./faults.ts";
import { GraphFiles, locateGraph } from "./graph-files.ts";
import type { Terminal } from "./terminal.ts";

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

// `GRAPH [SOURCE] [param=value…]`, and `key=value` words in general.
const ASSIGNMENT = /^([A-Za-z][\w-]*)=(.*)$/s;

export interface GraphWords {
  readonly graph: string;
  readonly source: string | null;
  readonly params: Readonly<Record<string, string>>;
}

export function readGraphWords(positionals: readonly string[]): GraphWords {
  const [graph, ...rest] = positionals;
  if (graph === undefined) throw new UsageFault("missing: the GRAPH, a file or the name of a template");
  const words = rest.filter((word) => !ASSIGNMENT.test(word));
  const [source, extra] = words;
  if (extra !== undefined)
    throw new UsageFault(
      `"${extra}" is too much: the source is "${source}" already; parameters are written name=value`,
    );
  return { graph, source: source ?? null, params: readAssignments(rest.filter((word) => ASSIGNMENT.test(word))) };
}

function readAssignments(words: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const word of words) {
    const [, name = "", value = ""] = ASSIGNMENT.exec(word) ?? [];
    if (name === "") throw new UsageFault(`"${word}" is no parameter; expected name=value`);
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

// Faults that lie in the words of the command line and not in the graph: said of those words.
/** Throws `UsageFault` for a SOURCE that no graph could be started on. */
export function expectSource(uri: string, registry: Registry): void {
  try {
    expandSource(describeSource(uri), {}, registry);
  } catch (error) {
    if (!(error instanceof ExpandFault)) throw error;
    // Some name it themselves.
    const subject = error.message.startsWith('"') ? "SOURCE" : `SOURCE ${maskCredentials(uri)}:`;
    throw new UsageFault(`${subject} ${error.message}`, { cause: error });
  }
}

/** Throws `UsageFault` for those parameters that the command line gives wrong. */
export function expectParams(faults: readonly Fault[], given: Readonly<Record<string, string>>): void {
  const wrong = faults.flatMap((fault) => {
    if (fault.code !== "bad_param" && fault.code !== "unknown_param") return [];
    const name = Object.keys(given).find((candidate) => fault.message.includes(`"${candidate}"`));
    return name === undefined ? [] : [`${name}=${given[name]}: ${fault.message}${hints(fault)}`];
  });
  if (wrong.length > 0) throw new UsageFault(wrong.join("\n"));
}

const hints = ({ expected, suggestion }: Fault): string =>
  [
    expected === undefined ? "" : `; expected ${expected}`,
    suggestion === undefined ? "" : `; did you mean "${suggestion}"?`,
  ].join("");

// What graphs are checked against: the elements of this checkout and the registry of this machine.
export interface Knowledge {
  readonly elements: Elements;
  readonly registry: Registry;
}

/** Elements that could not be loaded are reported on standard error; without a terminal they are only left out. */
export async function loadKnowledge(terminal: Terminal | null): Promise<Knowledge> {
  const [{ loadElements }, { loadRegistry }] = await Promise.all([
    import("../elements/index.ts"),
    import("../graphs/runtime/registry.ts"),
  ]);
  const elements = await loadElements();
  if (terminal !== null) reportBroken(elements, terminal);
  return { elements, registry: loadRegistry() };
}

function reportBroken({ broken }: Elements, terminal: Terminal): void {
  for (const { name, place, reason } of broken?.values() ?? [])
    if (terminal.isJson) terminal.say(JSON.stringify({ type: "broken-element", name, place, reason }));
    else terminal.say(`${terminal.paintErr("yellow", `${place}:`)} ${reason}; the element "${name}" is left out`);
}

// The plan of a graph that is only looked at: what is not given need not be.
/** Null when the graph has faults; they have been shown. */
export async function planGraph(words: GraphWords, terminal: Terminal): Promise<GraphPlan | null> {
  const files = new GraphFiles(locateGraph(words.graph));
  const source = words.source === null ? null : { uri: words.source };
  const knowledge = await loadKnowledge(terminal);
  try {
    const { plan, faults } = compileGraph(files, words, { ...knowledge, source, mode: "check" });
    showFaults(faults, (file) => files.textOf(file), terminal);
    return plan;
  } catch (error) {
    if (!(error instanceof GraphFaults)) throw error;
    showFaults(error.faults, (file) => files.textOf(file), terminal);
    return null;
  }
}

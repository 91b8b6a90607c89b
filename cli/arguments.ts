/** `GRAPH [SOURCE] [param=value…]`, and `key=value` words in general. */
import { UsageFault } from "./command.ts";

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

/** Located values → chains and steps. */
import { suggest } from "../../schemas/suggest.ts";
import {
  type Chain,
  type ElementStep,
  elementStep,
  type JoinStep,
  type Named,
  type Step,
  type UnreadableStep,
  type UseStep,
  type WrittenStep,
} from "./document.ts";
import type { FaultList } from "./fault.ts";
import {
  describeLocated,
  findEntry,
  type Located,
  type LocatedEntry,
  type LocatedMap,
  type LocatedScalar,
} from "./located.ts";
import type { Position } from "./plan.ts";
import { ALIGNED_STEPS } from "./yaml-faults.ts";

export const NODE_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;
const STEP = '`element`, `element: { properties }`, `use: part`, `from: node`, `to: node` or `caps: "video/x-raw"`';

/** `main: [steps]`, or `main: { when: flag, chain: [steps] }`. Null when it is neither. */
export function readChain(name: string, at: Position, value: Located, faults: FaultList): Chain<WrittenStep> | null {
  if (value.kind === "list")
    return { name, at, when: null, steps: readSteps(value.items, `chain "${name}"`, at, faults) };
  if (value.kind === "map") {
    for (const entry of value.entries) {
      if (entry.key === "chain" || entry.key === "when") continue;
      faults.add("document_shape", entry.at, `chain "${name}" has no key "${entry.key}"`, {
        expected: "a list of steps, or `{ when: …, chain: [steps] }`",
        suggestion: suggest(entry.key, ["chain", "when"]),
      });
    }
    const steps = findEntry(value, "chain");
    if (steps?.value.kind === "list") {
      const when = readWhen(findEntry(value, "when"), faults);
      return { name, at, when, steps: readSteps(steps.value.items, `chain "${name}"`, at, faults) };
    }
  }
  faults.add("document_shape", at, `chain "${name}" is ${describeLocated(value)}`, { expected: "a list of steps" });
  return null;
}

export function readSteps(
  items: readonly Located[],
  owner: string,
  at: Position,
  faults: FaultList,
): readonly WrittenStep[] {
  if (items.length === 0) faults.add("document_shape", at, `${owner} has no steps`, { expected: STEP });
  return placeJoins(
    items.map((item) => readStep(item, faults)),
    faults,
  );
}

/** Reports `from:` and `to:` in the middle. */
export function placeJoins<S extends WrittenStep>(
  steps: readonly S[],
  faults: FaultList,
): readonly (S | UnreadableStep)[] {
  return steps.map((step, index) => {
    const isMisplaced = (step.kind === "from" && index > 0) || (step.kind === "to" && index < steps.length - 1);
    if (!isMisplaced) return step;
    const expected = `\`${step.kind}:\` as its ${step.kind === "from" ? "first" : "last"} step`;
    faults.add("document_shape", step.at, `\`${step.kind}:\` in the middle of a chain`, { expected });
    return { kind: "unreadable", at: step.at };
  });
}

function readStep(item: Located, faults: FaultList): WrittenStep {
  const unreadable: Step = { kind: "unreadable", at: item.at };
  const folded = item.kind === "scalar" && typeof item.value === "string" ? /^(\S+) - (.+)$/.exec(item.value) : null;
  if (folded !== null) {
    // YAML reads a line that is indented further as a continuation of the text before it.
    const found = `"${folded[1]}" and "${folded[2]}" below it are read as one step`;
    faults.add("document_shape", item.at, found, { expected: ALIGNED_STEPS });
    return unreadable;
  }
  if (item.kind === "scalar" && typeof item.value === "string" && item.value !== "") {
    return elementStep(item.at, item.value);
  }
  const [entry, ...others] = item.kind === "map" ? item.entries : [];
  if (entry === undefined) {
    faults.add("document_shape", item.at, `a step cannot be ${describeLocated(item)}`, { expected: STEP });
    return unreadable;
  }
  const second = others[0];
  if (second !== undefined) {
    faults.add("document_shape", second.at, `"${second.key}" is beside "${entry.key}", not below it`, {
      expected: `one element a step, its properties indented below it: \`${entry.key}: { ${second.key}: … }\``,
    });
    return unreadable;
  }
  if (entry.key === "from" || entry.key === "to") return readJoin(entry.key, entry, faults) ?? unreadable;
  if (entry.key === "caps") return readCaps(entry, faults) ?? unreadable;
  if (entry.key === "use") return readUse(entry, faults) ?? unreadable;
  return readElement(entry, faults);
}

function readJoin(kind: "from" | "to", entry: LocatedEntry, faults: FaultList): JoinStep | null {
  const text = entry.value.kind === "scalar" ? entry.value.value : null;
  const match = typeof text === "string" ? /^([A-Za-z][\w-]*)(?:\.([\w%-]+))?$/.exec(text) : null;
  if (match?.[1] !== undefined) return { kind, at: entry.value.at, node: match[1], pad: match[2] ?? null };
  faults.add("document_shape", entry.value.at, `\`${kind}:\` names ${describeLocated(entry.value)}`, {
    expected: "the name of a node, or `node.pad`",
  });
  return null;
}

function readCaps(entry: LocatedEntry, faults: FaultList): ElementStep | null {
  if (entry.value.kind === "scalar" && typeof entry.value.value === "string") {
    return elementStep(entry.at, "capsfilter", [entry]);
  }
  faults.add("document_shape", entry.value.at, `\`caps:\` is ${describeLocated(entry.value)}`, {
    expected: 'caps as text, such as `caps: "video/x-raw,width=640"`; with a name, `capsfilter: { caps: …, name: … }`',
  });
  return null;
}

const PART_REFERENCE = /^(?:[^#]{1,1024}#)?[A-Za-z][A-Za-z0-9_-]*$/;

/** `use: part`, or `use: { part: …, name: …, when: …, param: value }`. */
function readUse({ at, value }: LocatedEntry, faults: FaultList): UseStep | null {
  const part = value.kind === "map" ? findEntry(value, "part")?.value : value;
  const text = part?.kind === "scalar" ? part.value : null;
  if (part === undefined || typeof text !== "string" || !PART_REFERENCE.test(text)) {
    const found = part === undefined ? "no part" : describeLocated(part);
    faults.add("document_shape", part?.at ?? value.at, `\`use:\` names ${found}`, {
      expected: "`use: PART`, `use: { part: PART, param: value }`, or FILE#PART for a part of another file",
    });
    return null;
  }
  const entries = value.kind === "map" ? value.entries : [];
  return {
    ...{ kind: "use", at, part: { value: text, at: part.at } },
    name: readName(
      entries.find(({ key }) => key === "name"),
      faults,
    ),
    when: readWhen(
      entries.find(({ key }) => key === "when"),
      faults,
    ),
    given: entries.filter(({ key }) => !USE_KEYS.includes(key)),
  };
}

/** What `use` itself has; a part cannot have parameters of these names. */
export const USE_KEYS: readonly string[] = ["part", "name", "when"];

function readElement({ key, at, value }: LocatedEntry, faults: FaultList): ElementStep {
  const written = value.kind === "scalar" && value.value === null ? emptyMap(at) : value;
  if (written.kind !== "map") return { ...elementStep(at, key), main: written };
  const when = readWhen(findEntry(written, "when"), faults);
  const properties = written.entries.filter((entry) => entry.key !== "name" && entry.key !== "when");
  return {
    ...elementStep(at, key, properties),
    name: readName(findEntry(written, "name"), faults),
    when: when === null ? [] : [when],
  };
}

function readName(entry: LocatedEntry | undefined, faults: FaultList): Named | null {
  if (entry === undefined) return null;
  const name = entry.value.kind === "scalar" ? entry.value.value : null;
  if (typeof name === "string" && NODE_NAME.test(name)) return { value: name, at: entry.value.at };
  faults.add("document_shape", entry.value.at, `a node cannot be named ${describeLocated(entry.value)}`, {
    expected: "a letter, then letters, digits, - or _",
  });
  return null;
}

export function readWhen(entry: LocatedEntry | undefined, faults: FaultList): LocatedScalar | null {
  if (entry === undefined) return null;
  if (entry.value.kind === "scalar") return entry.value;
  faults.add("document_shape", entry.value.at, `\`when:\` is ${describeLocated(entry.value)}`, {
    expected: "`flag`, `!flag` or `$name == value`",
  });
  return null;
}

const emptyMap = (at: Position): LocatedMap => ({ kind: "map", at, entries: [] });

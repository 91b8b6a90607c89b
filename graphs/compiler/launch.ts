/** gst-launch style lines → the same document as a graph file makes. */
import type { Chain, ElementStep, GraphDocument, JoinStep, Step } from "./document.ts";
import type { FaultList } from "./fault-list.ts";
import { adviseOnWord } from "./launch-advice.ts";
import { splitLaunch, type Word } from "./launch-words.ts";
import { MAX_TEXT_CHARS } from "./limits.ts";
import type { LocatedEntry, LocatedScalar } from "./located.ts";
import { nameSteps } from "./name-steps.ts";
import type { Position } from "./plan.ts";
import { NODE_NAME } from "./read-steps.ts";

const PROPERTY = /^([A-Za-z][\w:-]*)=(.*)$/s;
const JOIN = /^([A-Za-z][\w-]*)\.([\w%-]*)$/;
const CAPS = /^[a-z]+\/[\w+.-]+/;
const ELEMENT = /^[A-Za-z][\w-]*$/;

/** Null when the line cannot be read; the faults say why. */
export function readLaunch(line: string, faults: FaultList): GraphDocument | null {
  const start: Position = { file: null, line: 1, column: 1 };
  if (line.length > MAX_TEXT_CHARS) {
    const found = `the line has ${line.length} characters`;
    faults.add("file_too_large", start, found, {
      expected: `at most ${MAX_TEXT_CHARS}; a longer graph belongs into a file`,
    });
    return null;
  }
  const words = splitLaunch(line, faults);
  if (words === null) return null;
  if (words.length === 0) {
    faults.add("launch_syntax", start, "the line is empty", { expected: "`element ! element ! …`" });
    return null;
  }
  const chains = readChains(words, faults);
  if (chains === null) return null;
  const document: GraphDocument = {
    file: null,
    graph: "launch",
    about: line,
    extends: null,
    params: [],
    paramsAt: start,
    slotsAt: start,
    chains: nameChainsApart(chains, start),
    slots: [],
    edits: { set: [], insert: [], remove: [] },
    damaged: false,
  };
  return nameSteps(document, faults);
}

function nameChainsApart(chains: readonly (readonly Step[])[], start: Position): readonly Chain[] {
  return chains.map((steps, index) => {
    const name = index === 0 ? "main" : `chain-${index + 1}`;
    return { name, at: steps[0]?.at ?? start, when: null, steps };
  });
}

function readChains(words: readonly Word[], faults: FaultList): readonly (readonly Step[])[] | null {
  const chains: Step[][] = [];
  const before = faults.size;
  let bang: Word | null = null;
  for (const [index, word] of words.entries()) {
    const chain = chains.at(-1);
    const step = chain?.at(-1);
    if (word.text === "!" && !word.quoted) {
      if (bang !== null || step === undefined) {
        faults.add("launch_syntax", word.at, "`!` links two elements, and there is none before it", {
          expected: "`element ! element`",
        });
        return null;
      }
      bang = word;
      continue;
    }
    const property = word.isCaps ? null : PROPERTY.exec(word.text);
    if (property !== null && bang === null) {
      if (step?.kind !== "element") {
        faults.add("launch_syntax", word.at, `\`${word.text}\` belongs to no element`, {
          expected: "an element before its properties",
        });
        return null;
      }
      chain?.splice(-1, 1, addProperty(step, property[1] ?? "", property[2] ?? "", word.at, faults));
      continue;
    }
    const isLast = words[index + 1]?.text !== "!";
    const next = readWord(word, bang !== null, isLast, faults);
    if (next === null) return null;
    if (bang === null) chains.push([next]);
    else chain?.push(next);
    bang = null;
  }
  if (bang !== null) {
    faults.add("launch_syntax", bang.at, "`!` links two elements, and there is none after it", {
      expected: "`element ! element`",
    });
  }
  return faults.size > before ? null : chains;
}

function readWord(word: Word, linked: boolean, isLast: boolean, faults: FaultList): Step | null {
  const { text, at } = word;
  const advice = word.quoted ? null : adviseOnWord(text);
  if (advice !== null) {
    faults.add("launch_syntax", at, advice.message, advice);
    return null;
  }
  const join = JOIN.exec(text);
  if (join !== null) {
    const step: JoinStep = {
      kind: linked ? "to" : "from",
      at,
      node: join[1] ?? "",
      pad: join[2] === "" ? null : (join[2] ?? null),
    };
    if (linked === isLast) return step;
    faults.add("launch_syntax", at, `\`${text}\` stands ${linked ? "between two elements" : "alone"}`, {
      expected: "`name. ! element` or `element ! name.`",
    });
    return null;
  }
  if (word.isCaps || CAPS.test(text)) {
    const caps: LocatedScalar = { kind: "scalar", at, value: text, untyped: true };
    return {
      kind: "element",
      at,
      element: "capsfilter",
      name: null,
      when: null,
      properties: [{ key: "caps", at, value: caps }],
    };
  }
  if (ELEMENT.test(text)) return { kind: "element", at, element: text, name: null, when: null, properties: [] };
  faults.add("launch_syntax", at, `\`${text}\` is neither an element nor a property nor caps`, {
    expected: "`element property=value ! video/x-raw,width=640 ! element`",
  });
  return null;
}

function addProperty(step: ElementStep, key: string, text: string, at: Position, faults: FaultList): ElementStep {
  const value: LocatedScalar = {
    kind: "scalar",
    at: { ...at, column: at.column + key.length + 1 },
    value: text,
    untyped: true,
  };
  if (key === "name") {
    if (NODE_NAME.test(text)) return { ...step, name: { value: text, at: value.at } };
    faults.add("launch_syntax", value.at, `a node cannot be named "${text}"`, {
      expected: "a letter, then letters, digits, - or _",
    });
    return step;
  }
  if (step.properties.some((entry) => entry.key === key)) {
    faults.add("launch_syntax", at, `the property "${key}" is there twice`, { expected: "each property once" });
    return step;
  }
  const entry: LocatedEntry = { key, at, value };
  return { ...step, properties: [...step.properties, entry] };
}

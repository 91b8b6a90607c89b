/** A gst-launch style line → the same document as from a graph file. */
import { type ElementStep, elementStep, type GraphDocument, type JoinStep, nameSteps, type Step } from "./document.ts";
import type { FaultList } from "./fault.ts";
import { MAX_TEXT_CHARS } from "./limits.ts";
import type { LocatedEntry, LocatedScalar } from "./located.ts";
import type { Position } from "./plan.ts";
import { NODE_NAME } from "./values-to-chains.ts";

const PROPERTY = /^([A-Za-z][\w:-]*)=(.*)$/s;
const JOIN = /^([A-Za-z][\w-]*)\.([\w%-]*)$/;
const CAPS = /^[a-z]+\/[\w+.-]+/;
const ELEMENT = /^[A-Za-z][\w-]*$/;

/** Null when the line has faults. */
export function readLaunch(line: string, faults: FaultList): GraphDocument | null {
  const start: Position = { file: null, line: 1, column: 1 };
  if (line.length > MAX_TEXT_CHARS) {
    const found = `the line has ${line.length} characters`;
    faults.add("file_too_large", start, found, {
      expected: `at most ${MAX_TEXT_CHARS}; put a longer graph into a file`,
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
    graphAt: start,
    about: line,
    extends: null,
    params: [],
    paramsAt: start,
    slotsAt: start,
    parts: [],
    tests: [],
    chains: chains.map((steps, index) => ({
      ...{ name: index === 0 ? "main" : `chain-${index + 1}`, at: steps[0]?.at ?? start, when: null, steps },
    })),
    slots: [],
    edits: { set: [], insert: [], remove: [] },
    damaged: false,
  };
  return nameSteps(document, faults);
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
        faults.add("launch_syntax", word.at, "no element before `!`", { expected: "`element ! element`" });
        return null;
      }
      bang = word;
      continue;
    }
    const property = word.isCaps ? null : PROPERTY.exec(word.text);
    if (property !== null && bang === null) {
      if (step?.kind !== "element") {
        faults.add("launch_syntax", word.at, `\`${word.text}\` has no element before it`, {
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
    faults.add("launch_syntax", bang.at, "no element after `!`", { expected: "`element ! element`" });
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
    const [, node = "", pad = ""] = join;
    const step: JoinStep = { kind: linked ? "to" : "from", at, node, pad: pad === "" ? null : pad };
    if (linked === isLast) return step;
    faults.add("launch_syntax", at, `\`${text}\` is ${linked ? "between two elements" : "alone"}`, {
      expected: "`name. ! element` or `element ! name.`",
    });
    return null;
  }
  if (word.isCaps || CAPS.test(text)) {
    const caps: LocatedScalar = { kind: "scalar", at, value: text, untyped: true };
    return elementStep(at, "capsfilter", [{ key: "caps", at, value: caps }]);
  }
  if (ELEMENT.test(text)) return elementStep(at, text);
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
    faults.add("launch_syntax", at, `duplicate property "${key}"`, { expected: "each property once" });
    return step;
  }
  const entry: LocatedEntry = { key, at, value };
  return { ...step, properties: [...step.properties, entry] };
}

interface Word {
  readonly text: string;
  readonly at: Position;
  /** Quoted words are never syntax. */
  readonly quoted: boolean;
  readonly isCaps: boolean;
}

const CAPS_START = /^[a-z]+\/[\w+.-]+\s*(,|\(|$)/;

const NAME = /^[A-Za-z][\w:-]*$/;
const PROPERTY_START = /^[A-Za-z][\w:-]*=$/;

/** Quotes and backslashes as in gst-launch; caps with spaces after commas are one word. Null when a quote is not closed. */
function splitLaunch(line: string, faults: FaultList): readonly Word[] | null {
  const words: Word[] = [];
  let index = 0;
  while (index < line.length) {
    // A backslash continues the line, as in a shell.
    const gap = /^(?:\s|\\\r?\n)+/.exec(line.slice(index, index + 64));
    if (gap !== null) {
      index += gap[0].length;
      continue;
    }
    const word = scanWord(line, index, faults);
    if (word === null) return null;
    const previous = words.at(-1);
    if (previous !== undefined && word.text !== "!" && belongTogether(previous, word))
      words.splice(-1, 1, { ...previous, text: previous.text + word.text, quoted: previous.quoted || word.quoted });
    else words.push(word);
    index = word.end;
  }
  return words;
}

/** As in gst-launch: `video/x-raw, width=640`, and `property = value`. */
function belongTogether(previous: Word, word: Word): boolean {
  if (previous.isCaps) return previous.text.endsWith(",") || word.text.startsWith(",");
  if (previous.quoted) return false;
  return PROPERTY_START.test(previous.text) || (!word.quoted && word.text.startsWith("=") && NAME.test(previous.text));
}

function scanWord(line: string, start: number, faults: FaultList): (Word & { readonly end: number }) | null {
  let text = "";
  let quote: { char: string; at: number } | null = null;
  let quoted = false;
  let index = start;
  for (; index < line.length; index++) {
    const char = line[index] ?? "";
    if (char === "\\" && quote?.char !== "'" && index + 1 < line.length) {
      index++;
      text += line[index];
      quoted = true;
    } else if (quote !== null) {
      if (char === quote.char) quote = null;
      else text += char;
    } else if (char === '"' || char === "'") {
      // Inside caps quotes belong to the value: video/x-raw,format="I420".
      quote = { char, at: index };
      quoted = true;
    } else if (/\s/.test(char)) {
      break;
    } else if (char === "!" && index > start && text !== "" && !/=/.test(text)) {
      break;
    } else {
      text += char;
      if (text === "!" && index === start && !/\s/.test(line[index + 1] ?? " ")) {
        index++;
        break;
      }
    }
  }
  if (quote !== null) {
    faults.add("launch_syntax", positionAt(line, quote.at), `the quote ${quote.char} is not closed`, {
      expected: `another ${quote.char}`,
    });
    return null;
  }
  return { text, at: positionAt(line, start), quoted, isCaps: CAPS_START.test(text), end: index };
}

/** A launch line may span several lines of a shell. */
function positionAt(line: string, offset: number): Position {
  const before = line.slice(0, offset).split("\n");
  return { file: null, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Syntax of gst-launch that is not supported here, and what to write instead. */
const ADVICE: readonly (readonly [pattern: RegExp, message: string, expected: string])[] = [
  [/^([\w-]+\.)?\(|^\)/, "is a bin, which is not supported", "the elements without brackets: `a ! b ! c`"],
  [/^#/, "is a comment, which is not supported", "elements, properties and caps only"],
  [
    /^gst-launch/,
    "is a program, not an element",
    "the line behind it, without its options: `element property=value ! element`",
  ],
  [
    /^-/,
    "is an option of gst-launch",
    "options of `windhover launch` outside of the line; Ctrl-C always ends the stream as -e does, --log LEVELS is --gst-debug",
  ],
  [/^:$/, "links all pads at once", "one link for each pad: `a.pad ! b.pad`"],
  [/^\.[\w%]/, "names a pad without its element", "`name=x` at the element, and `x.pad ! …` or `… ! x.pad`"],
  [/^[\w-]+\.[\w%]+,/, "names several pads", "one link for each pad: `a.video_0 ! … a.audio_0 ! …`"],
  [/^=/, "has no property before it", "`property=value` behind an element"],
];

function adviseOnWord(word: string): { readonly message: string; readonly expected: string } | null {
  const found = ADVICE.find(([pattern]) => pattern.test(word));
  return found === undefined ? null : { message: `\`${word}\` ${found[1]}`, expected: found[2] };
}

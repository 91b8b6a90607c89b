/** Splits a launch line into words: quotes and backslashes as in gst-launch, caps with spaces after commas kept together. */
import type { FaultList } from "./fault-list.ts";
import type { Position } from "./plan.ts";

export interface Word {
  readonly text: string;
  readonly at: Position;
  /** Some of it was quoted, so it is no syntax. */
  readonly quoted: boolean;
  readonly isCaps: boolean;
}

const CAPS_START = /^[a-z]+\/[\w+.-]+\s*(,|\(|$)/;

const NAME = /^[A-Za-z][\w:-]*$/;
const PROPERTY_START = /^[A-Za-z][\w:-]*=$/;

/** Null when a quote is left open. */
export function splitLaunch(line: string, faults: FaultList): readonly Word[] | null {
  const words: Word[] = [];
  let index = 0;
  while (index < line.length) {
    // A line that goes on after a backslash, as shells have it, is one line.
    const gap = /^(?:\s|\\\r?\n)+/.exec(line.slice(index, index + 64));
    if (gap !== null) {
      index += gap[0].length;
      continue;
    }
    const word = readWord(line, index, faults);
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

function readWord(line: string, start: number, faults: FaultList): (Word & { readonly end: number }) | null {
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

/** A launch line is mostly one line, but a shell lets it be several. */
function positionAt(line: string, offset: number): Position {
  const before = line.slice(0, offset).split("\n");
  return { file: null, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

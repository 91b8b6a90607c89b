/** Graphs damaged at random, as fast-check arbitraries. */
import fc from "fast-check";
import { anyCharacter } from "../../test/any-character.fixture.ts";

const WORDS = [
  ...["from", "to", "when", "name", "caps", "graph", "params", "chains", "slots", "extends", "set", "insert", "remove"],
  ...[
    "use",
    "part",
    "parts",
    "#",
    "library#end",
    "buffer",
    "tests",
    "expect",
    "3..5",
    "golden",
    "filter",
    "map",
    "count",
  ],
  ...[
    "source",
    "decode",
    "tee",
    "queue",
    "frames",
    "$x",
    "$model",
    `\${model}`,
    "!flag",
    "null",
    "true",
    "-1",
    "1e99",
    ".nan",
  ],
  ...[
    "&a",
    "*a",
    "<<:",
    "---",
    "...",
    "- ",
    "? ",
    ": ",
    "|",
    ">",
    "{",
    "}",
    "[",
    "]",
    "'",
    '"',
    "#",
    "%",
    "@",
    "`",
    "\t",
    "\n",
  ],
  ...[
    "\n  ",
    "\n    - ",
    "\r\n",
    "\u00e9",
    "\u{1f600}",
    "\u0000",
    "\ufeff",
    "__proto__",
    "constructor",
    "!!binary",
    "!!set",
  ],
];

type Edit = (text: string) => string;

const at = (text: string, place: number): number => Math.floor(place * (text.length + 1));
const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const piece = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.string({ maxLength: 8 }),
  fc.string({ unit: anyCharacter, maxLength: 4 }),
);

const deletion = fc.tuple(place, fc.nat(40)).map(
  ([start, length]): Edit =>
    (text) =>
      text.slice(0, at(text, start)) + text.slice(at(text, start) + length),
);
const insertion = fc.tuple(place, piece).map(
  ([start, word]): Edit =>
    (text) =>
      text.slice(0, at(text, start)) + word + text.slice(at(text, start)),
);
const swap = fc.tuple(place, place).map(
  ([one, other]): Edit =>
    (text) => {
      const lines = text.split("\n");
      const [a, b] = [Math.floor(one * lines.length), Math.floor(other * lines.length)];
      [lines[a], lines[b]] = [lines[b] ?? "", lines[a] ?? ""];
      return lines.join("\n");
    },
);
const repetition = fc.tuple(place, fc.nat(60), fc.integer({ min: 2, max: 5 })).map(
  ([start, length, times]): Edit =>
    (text) => {
      const from = at(text, start);
      return text.slice(0, from) + text.slice(from, from + length).repeat(times) + text.slice(from + length);
    },
);
/** Renames one word, everywhere or once: keys, elements, properties, parameters. */
const renaming = fc.tuple(place, piece, fc.boolean()).map(
  ([which, word, everywhere]): Edit =>
    (text) => {
      const words = text.match(/[A-Za-z][\w-]*/g) ?? [];
      const chosen = words[Math.floor(which * words.length)];
      if (chosen === undefined) return text;
      return everywhere ? text.replaceAll(chosen, () => word) : text.replace(chosen, () => word);
    },
);

const KINDS = { deletion, insertion, swap, repetition, renaming };
type EditKind = keyof typeof KINDS;
export const EDITS = Object.keys(KINDS) as EditKind[];

const edit = fc.oneof(...EDITS.map((kind) => KINDS[kind].map((apply) => ({ kind, apply }))));

export interface Mutant {
  readonly text: string;
  /** In the order in which they were made. */
  readonly edits: readonly EditKind[];
}

export function mutated(originals: readonly string[]): fc.Arbitrary<Mutant> {
  return fc
    .tuple(fc.constantFrom(...originals), fc.array(edit, { minLength: 1, maxLength: 6 }))
    .map(([text, edits]) => ({
      text: edits.reduce((current, { apply }) => apply(current), text),
      edits: edits.map(({ kind }) => kind),
    }));
}

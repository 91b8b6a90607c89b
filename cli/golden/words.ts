/** `GRAPH CLIP [FILE] [param=value…]`. */

import { quoteShell } from "../../graphs/compiler/plan-to-text.ts";
import { readGraphWords } from "../arguments.ts";
import { UsageFault } from "../command.ts";

export interface GoldenWords {
  readonly graph: string;
  readonly clip: string;
  readonly file: string | null;
  readonly params: Readonly<Record<string, string>>;
}

const isParam = (word: string): boolean => /^[A-Za-z][\w-]*=/.test(word);

/** `files` is how many words may follow CLIP. */
export function readGoldenWords(positionals: readonly string[], files: 0 | 1): GoldenWords {
  const words = positionals.filter((word) => !isParam(word));
  const [graph, clip, file, extra] = words;
  if (graph === undefined || clip === undefined) throw new UsageFault("missing: GRAPH and CLIP, as in detect clip.mp4");
  const tooMuch = files === 0 ? file : extra;
  if (tooMuch !== undefined)
    throw new UsageFault(
      `"${tooMuch}" is too much; expected GRAPH CLIP${files === 0 ? "" : " [FILE]"}, and parameters as name=value`,
    );
  if (/^(rtsps?|rtmps?|test):/i.test(clip))
    throw new UsageFault(`CLIP is "${clip}"; expected a file: only a file gives the same frames every time`);
  const { params } = readGraphWords([graph, ...positionals.filter(isParam)]);
  return { graph, clip, file: file ?? null, params };
}

/** The command line that records what is missing. */
export function writeRecordWords({ graph, clip, params }: GoldenWords, file: string, isDefault: boolean): string {
  const assignments = Object.entries(params).map(([name, value]) => `${name}=${value}`);
  return ["golden", "record", graph, clip, ...assignments, ...(isDefault ? [] : ["-o", file])]
    .map(quoteShell)
    .join(" ");
}

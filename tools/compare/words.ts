/** The arguments of `compare` and `tune`: graphs, a clip, and parameters. */
import { UsageFault } from "../../cli/command.ts";
import { type GraphWords, readGraphWords } from "../../cli/compile-graph.ts";
import { expectFile } from "../../cli/files.ts";

export type ClipWords = GraphWords & { readonly source: string };

const isParam = (word: string): boolean => /^(?:[ab]\.)?[A-Za-z][\w-]*=/.test(word);

/** `A B CLIP`, and `name=value` for both graphs, `a.name=value` and `b.name=value` for one of them. */
export function readPairWords(positionals: readonly string[]): readonly [ClipWords, ClipWords] {
  const [a, b, clip, extra] = positionals.filter((word) => !isParam(word));
  if (a === undefined || b === undefined || clip === undefined)
    throw new UsageFault("missing: two graphs and a clip, A B CLIP, as in detect detect clip.mp4 b.model=quality");
  if (extra !== undefined)
    throw new UsageFault(`unexpected argument "${extra}"; expected A B CLIP, and parameters as a.name=value`);
  const params = positionals.filter(isParam);
  const wordsOf = (graph: string, side: "a" | "b"): ClipWords => {
    const own = params.filter((word) => word.startsWith(`${side}.`)).map((word) => word.slice(2));
    const named = new Set(own.map((word) => word.split("=", 1)[0]));
    // A parameter of one graph has precedence over the same one of both.
    const common = params.filter((word) => !/^[ab]\./.test(word) && !named.has(word.split("=", 1)[0]));
    return { ...readGraphWords([graph, ...common, ...own]), source: expectClip(clip) };
  };
  return [wordsOf(a, "a"), wordsOf(b, "b")];
}

/** `GRAPH CLIP`, and parameters. */
export function readClipWords(positionals: readonly string[]): ClipWords {
  const words = readGraphWords(positionals);
  if (words.source === null) throw new UsageFault("missing: GRAPH and CLIP, as in detect clip.mp4");
  return { ...words, source: expectClip(words.source) };
}

function expectClip(clip: string): string {
  if (/^(rtsps?|rtmps?|srt|udp):/i.test(clip))
    throw new UsageFault(`CLIP is "${clip}"; expected a file: only a file gives every run the same frames`);
  if (!/^test:/i.test(clip)) expectFile(clip);
  return clip;
}

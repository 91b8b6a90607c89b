/** `windhover compare`: two graphs on one clip, by speed and by what they find. */
import { statSync } from "node:fs";
import { EXIT, type Given, UsageFault } from "../../cli/command.ts";
import { loadKnowledge } from "../../cli/compile-graph.ts";
import { expectRoom } from "../../cli/files.ts";
import { Progress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { formatBytes } from "../../cli/text.ts";
import { compareRuns } from "./agreement.ts";
import { listShortfalls, readFloors } from "./floors.ts";
import { type ComparedGraph, type ComparedGraphs, formatComparison, median, nameOf, toJson } from "./report.ts";
import { writeSideBySide } from "./side-by-side.ts";
import { readTruthFile, scoreRun, type Truth } from "./truth.ts";
import { type GraphRun, WatchedGraph } from "./watched-graph.ts";
import { type ClipWords, readPairWords } from "./words.ts";

const USUAL_ROUNDS = 3;
const MOST_ROUNDS = 100;
const MEASURES = ["agreement", "recall", "precision", "ap", "hota", "idf1", "speed"];

export async function compare(given: Given, terminal: Terminal): Promise<number> {
  const words = readPairWords(given.positionals);
  const floors = readFloors("fail-under", given.text("fail-under"), MEASURES, ["speed"]);
  const rounds = given.number("rounds", "whole") ?? USUAL_ROUNDS;
  if (rounds > MOST_ROUNDS) throw new UsageFault(`--rounds is ${rounds}; expected up to ${MOST_ROUNDS}`);
  const frames = given.number("frames", "whole") ?? null;
  const video = given.text("video");
  if (video !== undefined) expectRoom("video", video);
  const truthFile = given.text("truth");
  const truth = truthFile === undefined ? null : readTruthFile(truthFile, given.text("class") ?? "person");
  const knowledge = await loadKnowledge(terminal);
  const graphs = words.map((one) => WatchedGraph.open(one, knowledge, terminal));
  const [a, b] = graphs;
  if (!a || !b) return EXIT.refused;
  const [ofA, ofB] = await runRounds([a, b], rounds, frames, terminal);
  const compared: ComparedGraphs = {
    clip: words[0].source,
    a: describe(words[0], ofA, truth, frames),
    b: describe(words[1], ofB, truth, frames),
    speed: median(ofB.rates.map((rate, round) => rate / (ofA.rates[round] ?? Number.NaN))),
    agreement: compareRuns(ofA.run, ofB.run),
  };
  if (truth !== null && !compared.agreement.classes.some(({ name }) => name === truth.className))
    say(terminal, "note", `neither graph has an object of the class "${truth.className}"; --class selects another`);
  if (video !== undefined) {
    const sides = [
      { name: `A: ${nameOf(compared.a)}`, run: ofA.run },
      { name: `B: ${nameOf(compared.b)}`, run: ofB.run },
    ] as const;
    await writeSideBySide(sides, { clip: compared.clip, file: video, frames }, knowledge);
    say(terminal, "written", `written: ${video}, ${formatBytes(statSync(video).size)}`);
  }
  await terminal.print(
    given.flag("json") ? JSON.stringify(toJson(compared), null, 2) : formatComparison(compared, terminal.paintOut),
  );
  return reportShortfalls(listShortfalls(floors, measuresOf(compared)), terminal);
}

interface Rounds {
  /** Of the first round. The same clip gives the same objects in all of them. */
  readonly run: GraphRun;
  /** Frames per second of each. */
  readonly rates: readonly number[];
}

/** In turn, so that a change of the machine's speed affects both. */
async function runRounds(
  graphs: readonly [WatchedGraph, WatchedGraph],
  rounds: number,
  frames: number | null,
  terminal: Terminal,
): Promise<readonly [Rounds, Rounds]> {
  const runs: [GraphRun[], GraphRun[]] = [[], []];
  for (let round = 1; round <= rounds; round++)
    for (const side of [0, 1] as const) {
      const progress = new Progress(terminal, `round ${round} of ${rounds}, ${side === 0 ? "A" : "B"}, frames`);
      const run = await graphs[side].run(frames, (count) => progress.show(count, frames));
      progress.end();
      runs[side].push(round === 1 ? run : { ...run, frames: [] });
    }
  return [gather(runs[0]), gather(runs[1])];
}

const gather = (runs: readonly GraphRun[]): Rounds => ({
  run: runs[0] as GraphRun,
  rates: runs.map(({ framesPerSecond }) => framesPerSecond),
});

const describe = (
  { graph, params }: ClipWords,
  { run, rates }: Rounds,
  truth: Truth | null,
  limit: number | null,
): ComparedGraph => ({
  ...{ graph, params, framesPerSecond: rates },
  frames: run.frames.length,
  hasTracks: run.hasTracks,
  truth: truth && scoreRun(run, truth, limit),
});

/** Scores are those against the ground truth or, without it, against A. */
function measuresOf({ speed, agreement, b }: ComparedGraphs): Readonly<Record<string, number>> {
  const { recall, precision, agreement: both } = agreement;
  const { ap, hota, idf1 } = b.truth ?? agreement;
  return { agreement: both, recall, precision, ap, hota, idf1, speed };
}

function reportShortfalls(shortfalls: readonly string[], terminal: Terminal): number {
  for (const text of shortfalls) say(terminal, "shortfall", text);
  return shortfalls.length === 0 ? EXIT.ok : EXIT.failed;
}

const say = (terminal: Terminal, type: string, text: string): void =>
  terminal.say(terminal.isJson ? JSON.stringify({ type, text }) : text);

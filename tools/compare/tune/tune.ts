/** `windhover tune`: searches the settings of a graph's detector that are fast and find what they should. */
import { availableParallelism } from "node:os";
import { CommandFailure, EXIT, type Given, UsageFault } from "../../../cli/command.ts";
import { type Knowledge, loadKnowledge } from "../../../cli/compile-graph.ts";
import { listInstalled } from "../../../cli/models/summary.ts";
import { Progress } from "../../../cli/progress.ts";
import { onInterrupt } from "../../../cli/run/interrupt.ts";
import type { Terminal } from "../../../cli/terminal.ts";
import { formatRate } from "../../../cli/text.ts";
import { GraphFaults } from "../../../graphs/compiler/fault.ts";
import { findCard } from "../../../models/find-card.ts";
import type { Json } from "../../../schemas/json.ts";
import { Interrupted } from "../../eval/clip/run-clip.ts";
import { compareRuns } from "../agreement.ts";
import { type Floors, readFloors } from "../floors.ts";
import { readTruthFile, scoreRun, type Truth } from "../truth.ts";
import { type GraphRun, WatchedGraph } from "../watched-graph.ts";
import { readClipWords } from "../words.ts";
import { formatSetting, type Knob, keyOf, listKnobs, ownSetting, type Setting, toChanges } from "./knobs.ts";
import { chooseBest, type Failed, formatShare, formatTuning, type Tried, type Tuning, toJson } from "./report.ts";
import { chooseNext, listSingleChanges } from "./search.ts";

const USUAL_RUNS = 20;
const MOST_RUNS = 1000;
const USUAL_FRAMES = 100;
const USUAL_BUDGET = "5m";
const QUALITIES = ["ap", "hota", "idf1", "agreement"];

export async function tune(given: Given, terminal: Terminal): Promise<number> {
  const words = readClipWords(given.positionals);
  const floors = readFloors("floor", given.text("floor"), ["fps", ...QUALITIES], ["fps"]);
  const budgetMs = readBudget(given.text("budget") ?? USUAL_BUDGET);
  const runs = given.number("runs", "whole") ?? USUAL_RUNS;
  if (runs > MOST_RUNS) throw new UsageFault(`--runs is ${runs}; expected up to ${MOST_RUNS}`);
  const frames = given.number("frames", "whole") ?? USUAL_FRAMES;
  const truthFile = given.text("truth");
  const truth = truthFile === undefined ? null : readTruthFile(truthFile, given.text("class") ?? "person");
  if (truth !== null && floors.has("agreement"))
    throw new UsageFault("--floor has agreement, which is with the reference; with --truth use ap, hota or idf1");
  const measure = QUALITIES.find((name) => floors.has(name)) ?? (truth === null ? "agreement" : "hota");
  const knowledge = await loadKnowledge(terminal);
  const graph = WatchedGraph.open(words, knowledge, terminal);
  if (graph === null) return EXIT.refused;
  const knobs = await findKnobs(graph, knowledge, given.texts("try"), Object.keys(words.params));
  const reference = truth === null ? chooseReference(knobs) : null;
  const search = new Search({ graph, knobs, floors, measure, truth, reference, frames, runs, budgetMs }, terminal);
  const found = await search.run();
  if (found.tried.length === 0)
    throw new CommandFailure(found.failed[0]?.reason ?? "interrupted: nothing was measured");
  const tuning = {
    ...{ graph: words.graph, clip: words.source, params: words.params, knobs, floors, measure, reference },
    ...found,
  };
  await terminal.print(
    given.flag("json") ? JSON.stringify(toJson(tuning), null, 2) : formatTuning(tuning, terminal.paintOut),
  );
  return chooseBest(tuning) === null ? EXIT.failed : EXIT.ok;
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

export function readBudget(text: string): number {
  const [, number, unit = ""] = /^(\d{1,6}(?:\.\d{1,3})?)([smh])$/.exec(text) ?? [];
  const budgetMs = Number(number) * (UNITS_MS[unit] ?? 0);
  if (budgetMs > 0) return budgetMs;
  throw new UsageFault(`--budget is "${text}"; expected a time such as 90s, 5m or 1h`);
}

async function findKnobs(
  graph: WatchedGraph,
  { elements }: Knowledge,
  tries: readonly string[],
  fixed: readonly string[],
): Promise<readonly Knob[]> {
  const detect = elements.get("detect");
  if (detect === undefined) throw new CommandFailure("the element `detect` is not available");
  const { classes = [] } = graph.nodes.find(({ element }) => element === "detect")?.properties ?? {};
  const models = (await listInstalled()).filter(({ labels }) =>
    (classes as readonly string[]).every((name) => labels.includes(name)),
  );
  return listKnobs(graph, detect, {
    models: models.map(({ name }) => name),
    cores: availableParallelism(),
    ...{ tries, fixed },
  });
}

/** The model with the most weights on every frame; everything else as in the graph. */
function chooseReference(knobs: readonly Knob[]): Setting {
  const own = ownSetting(knobs);
  const best: Record<string, Json> = {};
  for (const { name, values } of knobs) {
    if (name === "model") best.model = values.reduce((most, value) => (weigh(value) > weigh(most) ? value : most));
    if (name === "every") best.every = values.reduce((least, value) => (rateOf(value) < rateOf(least) ? value : least));
  }
  return { ...own, ...best };
}

const rateOf = (every: Json): number => (typeof every === "number" ? every : 1);

function weigh(model: Json): number {
  try {
    return findCard(String(model)).card.bytes ?? 0;
  } catch {
    return 0; // reported when it runs
  }
}

interface SearchOptions {
  readonly graph: WatchedGraph;
  readonly knobs: readonly Knob[];
  readonly floors: Floors;
  readonly measure: string;
  readonly truth: Truth | null;
  readonly reference: Setting | null;
  readonly frames: number;
  readonly runs: number;
  readonly budgetMs: number;
}

class Search {
  readonly #options: SearchOptions;
  readonly #terminal: Terminal;
  readonly #startMs = performance.now();
  readonly #tried: Tried[] = [];
  readonly #failed: Failed[] = [];
  readonly #keys = new Set<string>();
  /** Of the reference. */
  #best: GraphRun | null = null;
  #isInterrupted = false;

  constructor(options: SearchOptions, terminal: Terminal) {
    this.#options = options;
    this.#terminal = terminal;
  }

  /** Ctrl-C ends it with what is known. */
  async run(): Promise<Pick<Tuning, "tried" | "failed" | "end">> {
    const removeSignals = onInterrupt(
      () => {
        this.#isInterrupted = true;
      },
      () => process.exit(EXIT.failed),
    );
    try {
      const end = await this.#search();
      return { tried: this.#tried, failed: this.#failed, end };
    } finally {
      removeSignals();
    }
  }

  async #search(): Promise<string> {
    const { knobs, reference, runs, floors, measure } = this.#options;
    const first = [...(reference === null ? [] : [reference]), ...listSingleChanges(knobs)];
    for (;;) {
      const setting =
        first.find((one) => !this.#keys.has(keyOf(one))) ?? chooseNext(knobs, this.#tried, this.#keys, floors, measure);
      if (setting === null) return "no other is expected to be better";
      if (this.#keys.size >= runs) return `the limit of ${runs} runs is reached (--runs)`;
      if (this.#isOverBudget()) return "the time is over (--budget)";
      await this.#measure(setting);
      if (this.#isInterrupted) return "interrupted";
      if (reference !== null && this.#best === null) return "the reference failed";
    }
  }

  /** Whether another run would probably end after the budget. */
  #isOverBudget(): boolean {
    const passedMs = performance.now() - this.#startMs;
    return passedMs + passedMs / Math.max(1, this.#keys.size) > this.#options.budgetMs && this.#keys.size > 0;
  }

  #score(run: GraphRun): Readonly<Record<string, number>> {
    const { truth, frames } = this.#options;
    const fps = run.framesPerSecond;
    if (truth !== null) {
      const { ap, hota, idf1 } = scoreRun(run, truth, frames);
      return { fps, ap, hota, idf1 };
    }
    const { ap, hota, idf1, agreement } = compareRuns(this.#best ?? run, run);
    return { fps, ap, hota, idf1, agreement };
  }

  #fail(setting: Setting, reason: string): void {
    this.#failed.push({ setting, reason });
    this.#report(setting, `failed: ${reason}`);
  }

  #report(setting: Setting, result: string): void {
    const { runs } = this.#options;
    const run = this.#keys.size;
    const text = `run ${run} of up to ${runs}: ${formatSetting(setting)}: ${result}`;
    this.#terminal.say(this.#terminal.isJson ? JSON.stringify({ type: "run", run, runs, setting, result }) : text);
  }

  async #measure(setting: Setting): Promise<void> {
    const { graph, knobs, frames, runs } = this.#options;
    this.#keys.add(keyOf(setting));
    const what = `run ${this.#keys.size} of up to ${runs}, ${formatSetting(setting)}, frames`;
    const progress = new Progress(this.#terminal, what);
    try {
      const run = await graph.run(frames, (count) => progress.show(count, frames), toChanges(setting, knobs));
      this.#best ??= run;
      const measures = this.#score(run);
      const quality = measures[this.#options.measure] ?? 0;
      this.#tried.push({ setting, fps: run.framesPerSecond, quality, measures });
      this.#report(
        setting,
        `${formatRate(run.framesPerSecond)} frames/s, ${this.#options.measure} ${formatShare(quality)}`,
      );
    } catch (error) {
      if (error instanceof Interrupted) this.#isInterrupted = true;
      else if (error instanceof CommandFailure || error instanceof GraphFaults) this.#fail(setting, error.message);
      else throw error;
    } finally {
      progress.end();
    }
  }
}

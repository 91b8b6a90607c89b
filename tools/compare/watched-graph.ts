/**
 * Any graph with a recorder of its objects: inserted after its tracker or, without one, after its detector. The graph
 * itself is not changed: what is recorded and measured is what it does in a run.
 */
import { basename } from "node:path";
import { Type } from "typebox";
import { CommandFailure, UsageFault } from "../../cli/command.ts";
import { expectParams, type GraphWords, type Knowledge } from "../../cli/compile-graph.ts";
import { showFaults } from "../../cli/faults.ts";
import { GraphFiles, locateGraph } from "../../cli/graph-files.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type AnyElement, defineElement, type Frame } from "../../elements/element.ts";
import { type Compiled, compile } from "../../graphs/compiler/compile.ts";
import type { GraphPlan, PlanNode } from "../../graphs/compiler/plan.ts";
import { coerceParams } from "../../graphs/compiler/schema-check.ts";
import type { Detection, Detections, Track, Tracks } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { playGraph, type WatchedFrame } from "../eval/clip/run-clip.ts";

/** Half an hour at 30 fps; all of them are kept in memory. */
export const MOST_FRAMES = 50_000;

export interface SeenFrame extends WatchedFrame {
  /** Identifies the frame in all runs on the clip. */
  readonly ptsNs: bigint;
}

export interface GraphRun {
  readonly frames: readonly SeenFrame[];
  /** False: the graph has no tracker, and the ids of its objects mean nothing. */
  readonly hasTracks: boolean;
  /** Of the whole graph, from the first frame to the last. */
  readonly framesPerSecond: number;
  /** Before the graph changed its size. */
  readonly inputSize: Frame["inputSize"];
}

/** Changes to a graph: values of its parameters, and properties of its nodes. */
export interface Changes {
  readonly params: JsonRecord;
  readonly set: Readonly<Record<string, JsonRecord>>;
}

export const NO_CHANGES: Changes = { params: {}, set: {} };

export class WatchedGraph {
  readonly plan: GraphPlan;
  readonly paramSchema: JsonRecord;
  readonly #words: GraphWords & { readonly source: string };
  readonly #knowledge: Knowledge;
  readonly #watched: PlanNode;

  private constructor(
    words: GraphWords & { readonly source: string },
    knowledge: Knowledge,
    plan: GraphPlan,
    paramSchema: JsonRecord,
  ) {
    this.#words = words;
    this.#knowledge = knowledge;
    this.plan = plan;
    this.paramSchema = paramSchema;
    this.#watched = findObjects(plan);
  }

  /** Null when the graph has faults, which were shown. Throws `UsageFault` for wrong parameters and a graph without objects. */
  static open(
    words: GraphWords & { readonly source: string },
    knowledge: Knowledge,
    terminal: Terminal,
  ): WatchedGraph | null {
    const files = new GraphFiles(locateGraph(words.graph));
    const source = { uri: words.source, pace: "fast" } as const;
    const read = (params: JsonRecord, mode: "run" | "check"): Compiled =>
      compile(files.read(), { ...knowledge, source, load: files.loader(), params, mode });
    const { paramSchema } = read({}, "check");
    const { plan, faults } = read(coerceParams(paramSchema, words.params), "run");
    expectParams(faults, words.params);
    showFaults(faults, files.textOf, terminal);
    return plan === null ? null : new WatchedGraph(words, knowledge, plan, paramSchema);
  }

  /** All nodes, those of the main chain first. */
  get nodes(): readonly PlanNode[] {
    return listNodes(this.plan);
  }

  /** Runs it at pace fast. Throws `CommandFailure` when it fails, and `Interrupted`. */
  async run(limit: number | null, onFrame: (count: number) => void, changes: Changes = NO_CHANGES): Promise<GraphRun> {
    const recorder = new Recorder(onFrame);
    const elements = new Map([...this.#knowledge.elements, [RECORDER, recorder.element] as const]);
    const knowledge = { registry: this.#knowledge.registry, elements };
    await playGraph(this.#compile(changes, knowledge), knowledge, {
      onBuilt(pipeline, _segments, origins) {
        // One more than allowed, to notice it.
        for (const node of origins) pipeline.limit(node, { frames: limit ?? MOST_FRAMES + 1 });
      },
    });
    if (recorder.frames.length > MOST_FRAMES)
      throw new CommandFailure(`${this.#words.source} has more than ${MOST_FRAMES} frames; limit it with --frames`);
    return recorder.read(this.#words.source, this.#watched.element === "track");
  }

  #compile({ params, set }: Changes, { elements, registry }: Knowledge): Compiled {
    const file = locateGraph(this.#words.graph);
    const text = JSON.stringify({
      graph: "watched",
      about: "A graph with a recorder of its objects.",
      extends: `./${basename(file)}`,
      ...(Object.keys(set).length > 0 && { set }),
      insert: [{ after: this.#watched.author, steps: [RECORDER] }],
    });
    const given = { ...coerceParams(this.paramSchema, this.#words.params), ...params };
    const source = { uri: this.#words.source, pace: "fast" } as const;
    const load = new GraphFiles(file).loader();
    return compile({ file: null, text }, { elements, registry, load, source, params: given });
  }
}

const listNodes = ({ main, branches }: GraphPlan): readonly PlanNode[] =>
  [main, ...branches].flatMap(({ nodes }) => nodes);

/** The last tracker of the main chain, else of a branch, else the last detector. */
function findObjects(plan: GraphPlan): PlanNode {
  for (const element of ["track", "detect"])
    for (const nodes of [plan.main.nodes, listNodes(plan)]) {
      const found = nodes.findLast((node) => node.element === element);
      if (found !== undefined) return found;
    }
  throw new UsageFault(
    `the graph "${plan.graph}" detects no objects: it has no element \`track\` or \`detect\` outside of its slots`,
  );
}

const RECORDER = "watch-objects";

class Recorder {
  readonly frames: SeenFrame[] = [];
  readonly element: AnyElement;
  #firstMs = 0;
  #lastMs = 0;
  #inputSize = { width: 0, height: 0 };

  constructor(onFrame: (count: number) => void) {
    this.element = defineElement({
      kind: "transform",
      name: RECORDER,
      about: "Records objects to compare them.",
      example: "",
      caps: "ANY",
      properties: Type.Object({}),
      reads: [{ oneOf: ["tracks", "detections"] }],
      create: () => ({
        process: (frame) => {
          this.#take(frame);
          onFrame(this.frames.length);
        },
      }),
    });
  }

  read(clip: string, hasTracks: boolean): GraphRun {
    const { length } = this.frames;
    if (length === 0) throw new CommandFailure(`${clip} has no frames`);
    const passedMs = Math.max(this.#lastMs - this.#firstMs, 1e-3);
    const framesPerSecond = (Math.max(1, length - 1) / passedMs) * 1000;
    return { frames: this.frames, hasTracks, framesPerSecond, inputSize: this.#inputSize };
  }

  #take(frame: Frame): void {
    this.#lastMs = performance.now();
    if (this.frames.length === 0) {
      this.#firstMs = this.#lastMs;
      this.#inputSize = frame.inputSize;
    }
    const { width, height } = frame.format;
    const { objects: tracks } = (frame.meta.tracks as Tracks | undefined) ?? { objects: null };
    const detections = frame.meta.detections as Detections | undefined;
    this.frames.push({
      ptsNs: frame.ptsNs ?? BigInt(frame.index),
      ...{ width, height, detections: listDetections(detections, tracks ?? []) },
      tracks: tracks ?? (detections?.objects ?? []).map(asTrack),
    });
  }
}

/** What is known about a frame: all detections or, without inference, the predicted positions of the tracks. */
const listDetections = (detections: Detections | undefined, tracks: readonly Track[]): readonly Detection[] =>
  detections?.inferred === true ? [...detections.objects, ...detections.weak] : tracks;

/** Ids are unique in the frame only. */
const asTrack = (detection: Detection, index: number): Track => ({
  ...{ ...detection, id: index + 1 },
  ...{ predicted: false, ageMs: 0, velocity: [0, 0] },
});

/** A video with the objects of two runs side by side, each with its name. No inference: the runs were recorded. */
import { Type } from "typebox";
import type { Knowledge } from "../../cli/compile-graph.ts";
import { type AnyElement, defineElement } from "../../elements/element.ts";
import { compile } from "../../graphs/compiler/compile.ts";
import { playGraph } from "../eval/clip/run-clip.ts";
import type { GraphRun, SeenFrame } from "./watched-graph.ts";

const WHITE = 0xffffff;
const BLACK = 0x000000;
/** Of the height of the frame. */
const TEXT_SIZE = 0.04;

export interface NamedRun {
  readonly name: string;
  readonly run: GraphRun;
}

interface VideoOptions {
  readonly clip: string;
  readonly file: string;
  readonly frames: number | null;
}

/** Throws `CommandFailure` when the video cannot be written, and `Interrupted`. */
export async function writeSideBySide(
  [left, right]: readonly [NamedRun, NamedRun],
  { clip, file, frames }: VideoOptions,
  { elements: known, registry }: Knowledge,
): Promise<void> {
  const sides = [...describeSide("a", left), ...describeSide("b", right)];
  const elements = new Map([...known, ...sides.map((element) => [element.name, element] as const)]);
  const text = JSON.stringify(makeGraph(file, left.run.inputSize.width));
  const source = { uri: clip, pace: "fast" } as const;
  await playGraph(
    compile({ file: null, text }, { elements, registry, source }),
    { elements, registry },
    {
      onBuilt(pipeline, _segments, origins) {
        if (frames !== null) for (const node of origins) pipeline.limit(node, { frames });
      },
    },
  );
}

const makeGraph = (path: string, width: number) => ({
  graph: "side-by-side",
  about: "The objects of two runs side by side.",
  chains: {
    main: ["source", "decode", { tee: { name: "frames" } }],
    left: [
      ...[{ from: "frames" }, "queue", "objects-a", { overlay: { name: "overlay-a" } }, "caption-a"],
      ...[{ compositor: { name: "mix", "sink_1::xpos": width } }, "videoconvert", "encode", { record: { path } }],
    ],
    right: [
      ...[{ from: "frames" }, "queue", "objects-b", { overlay: { name: "overlay-b" } }, "caption-b"],
      { to: "mix.sink_1" },
    ],
  },
});

/** Attaches the recorded objects to the frames of the clip, and draws the name. */
function describeSide(side: string, { name, run }: NamedRun): readonly AnyElement[] {
  const seen = new Map(run.frames.map((frame) => [frame.ptsNs, frame]));
  const common = { example: "", properties: Type.Object({}) };
  const caption = {
    kind: "text",
    x: 8,
    y: 8,
    text: name,
    colour: WHITE,
    background: BLACK,
    opacity: 0.7,
  } as const;
  return [
    defineElement({
      ...common,
      kind: "transform",
      name: `objects-${side}`,
      about: "Attaches the objects of a run.",
      caps: "ANY",
      writes: [run.hasTracks ? "tracks" : "detections"],
      create: () => ({
        process: (frame) => frame.write(asMetadata(seen.get(frame.ptsNs ?? BigInt(frame.index)), run.hasTracks)),
      }),
    }),
    defineElement({
      ...common,
      kind: "transform",
      name: `caption-${side}`,
      about: "Draws the name of a run.",
      caps: "video/x-raw,format={I420,NV12}",
      access: "write",
      create: () => ({
        process: (frame) => frame.draw([{ ...caption, size: Math.max(10, frame.format.height * TEXT_SIZE) }]),
      }),
    }),
  ];
}

function asMetadata(frame: SeenFrame | undefined, hasTracks: boolean) {
  const objects = [...(frame?.tracks ?? [])];
  if (hasTracks) return { tracks: { inferred: true, objects, ended: [] } };
  return { detections: { inferred: true, model: "", confidence: 0, objects, weak: [] } };
}

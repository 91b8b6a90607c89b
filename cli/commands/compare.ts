/** `compare` and `tune`: their command lines. The measurements are in tools/compare/. */
import type { Command } from "../command.ts";
import { loadTool } from "./bench.ts";

const truth = {
  type: "string",
  value: "FILE",
  about: "Ground truth: rows of frame,id,left,top,width,height,confidence, as for `eval clip`.",
} as const;
const className = {
  type: "string",
  value: "NAME",
  about: "Class of the ground-truth objects; default: person.",
} as const;

export const compare = {
  name: "compare",
  about: "Run two graphs on a clip and compare their speed and the objects they find.",
  usage: "A B CLIP [a.param=value…] [b.param=value…] [param=value…]",
  options: {
    truth,
    class: className,
    rounds: { type: "string", value: "N", about: "Runs of each graph, in turn; default: 3." },
    frames: { type: "string", value: "N", about: "Use only the first N frames of the clip." },
    video: { type: "string", value: "FILE", about: "Write a video with the objects of both side by side." },
    "fail-under": {
      type: "string",
      value: "name=number,…",
      about: "Exit with 1 if a measure is lower: agreement, recall, precision, ap, hota, idf1 (0 to 1), speed.",
    },
    json: { type: "boolean", about: "Print as JSON; shares in percent." },
  },
  notes: [
    "A and B are files or names of templates, also the same one twice. `a.model=quality` is a parameter of A, `b.model=quality` of B, `model=quality` of both. They need an element `track` or `detect`, and run at pace fast. Their messages and lines are not printed; files that they write are written.",
    "frames/s is the median over the rounds, from the first frame to the last. speed is that of B relative to A, round by round: the graphs run in turn, so that a change of the machine's speed affects both.",
    "recall and precision are of B's boxes with A as the reference, for the same frame and class at an overlap (IoU) of at least 0.5; agreement is their F1. Tracks are matched if they overlap in at least half of the frames of A's track. id switches count the times that an object of A got another id in B. With --truth both are scored against it: AP50, HOTA, IDF1 and IDSW as in `eval clip`, but of the detections that the graph itself keeps (`weak`); frames without inference count with the predicted positions. ap, hota and idf1 of --fail-under are those of B against the truth or, without it, against A.",
    "Exit codes: 0 success, 1 failure or a measure below --fail-under, 2 invalid graph or command line.",
  ].join("\n"),
  examples: [
    "compare detect detect clip.mp4 b.model=quality",
    "compare detect ./mine.yaml clip.mp4 classes=person --truth gt.txt --video both.mp4",
    "compare detect detect clip.mp4 b.every=2 --fail-under agreement=0.95,speed=1.5",
  ],
  async run(given, terminal) {
    const { compare: run } = await loadTool("compare", () => import("../../tools/compare/compare.ts"));
    return run(given, terminal);
  },
} satisfies Command;

export const tune = {
  name: "tune",
  about: "Try settings of a graph's detector on a clip, and list those with the best speed and quality.",
  usage: "GRAPH CLIP [param=value…] [--floor fps=5,ap=0.9]",
  options: {
    floor: {
      type: "string",
      value: "name=number,…",
      about: "What a setting needs: fps, and ap, hota, idf1 or agreement (0 to 1).",
    },
    truth,
    class: className,
    try: {
      type: "string",
      multiple: true,
      value: "NAME=VALUE,…",
      about: "Try only this property, with these values: model, every, threads, tiles (2x2).",
    },
    frames: { type: "string", value: "N", about: "Use the first N frames of the clip; default: 100." },
    runs: { type: "string", value: "N", about: "Measure up to N settings; default: 20." },
    budget: { type: "string", value: "TIME", about: "Start no run that would end later: 90s, 5m, 1h; default: 5m." },
    json: { type: "boolean", about: "Print all settings as JSON; shares in percent." },
  },
  notes: [
    "It changes the properties model (those that are installed and have the classes of the graph), every, threads and tiles of the element `detect`, through parameters of the graph where it has them. Parameters given on the command line stay as they are. First the graph itself and every single change are measured, then combinations that are expected to be better.",
    "Without --truth, quality is measured against a reference: the model with the most weights, on every frame; ap, hota, idf1 and agreement are then those of `compare` with it (ap compares detections with the tracks of the reference, so that its own is below 100 %). The quality in the table is the first one of --floor; without one it is agreement or, with --truth, hota.",
    "The table has the Pareto front: no measured setting is both faster and better than one of these. Of those above the floor, the one with the best quality is recommended if the floor has fps, else the fastest. Speed is that of one stream on this machine at pace fast, measured once: leave the machine otherwise idle, and check the result with `compare`.",
    "Ctrl-C prints what is known so far. Exit codes: 0 success, 1 failure or no setting above the floor, 2 invalid graph or command line.",
  ].join("\n"),
  examples: [
    "tune detect clip.mp4 --floor fps=5,ap=0.9",
    "tune detect clip.mp4 classes=person --truth gt.txt --floor hota=0.5 --budget 20m",
    "tune ./mine.yaml clip.mp4 model=quality --try every=1,2,4 --try threads=1,2",
  ],
  async run(given, terminal) {
    const { tune: run } = await loadTool("tune", () => import("../../tools/compare/tune/tune.ts"));
    return run(given, terminal);
  },
} satisfies Command;

/** `eval mot`, `clip`, `coco` and `enhance`: their command lines. The evaluations are in tools/eval/. */
import type { Command } from "../command.ts";
import { loadTool } from "./bench.ts";

const json = { type: "boolean", about: "Print as JSON." } as const;
const plotTracks = {
  type: "string",
  value: "FILE.svg",
  about: "Plot the scores over the overlap threshold, and the tracks of every object over time.",
} as const;

export const mot = {
  name: "eval mot",
  about: "Track the detections of MOT sequences and score the tracks against ground truth.",
  usage: "DIR (--detections FILE | --results FOLDER)",
  options: {
    detections: { type: "string", value: "FILE", about: "Track these detections: a file in each sequence's folder." },
    tracker: { type: "string", value: "NAME", about: "The tracker: default, byte, ocsort or sort." },
    out: { type: "string", value: "FOLDER", about: "Write the tracks there, one SEQUENCE.txt per sequence." },
    results: { type: "string", value: "FOLDER", about: "Score the SEQUENCE.txt files of another tracker instead." },
    plot: plotTracks,
    json,
  },
  notes: [
    "DIR has one folder per sequence, with seqinfo.ini (frameRate, seqLength), gt.txt and FILE. Rows are frame,id,left,top,width,height,confidence; rows of gt.txt with confidence 0 are not scored. If confidences of FILE are not between 0 and 1, as those of ACF and DPM, their ranks within the file replace them, from 0.6 to 1.",
    "HOTA, DetA, AssA and LocA are means over overlap thresholds from 0.05 to 0.95; MOTA, IDF1 and all counts use 0.5. The definitions are those of TrackEval without its preprocessing, in percent; IDSW is the number of id switches. frames/s measures the tracker alone, in a second pass over all sequences after a warm-up pass that gives the scores.",
  ].join("\n"),
  examples: [
    "eval mot sequences --detections det.txt",
    "eval mot sequences --detections det.txt --tracker byte --out tracked --plot byte.svg",
    "eval mot sequences --results tracked --json",
  ],
  async run(given, terminal) {
    const { evalMot } = await loadTool("eval", () => import("../../tools/eval/eval-mot.ts"));
    return evalMot(given, terminal);
  },
} satisfies Command;

export const clip = {
  name: "eval clip",
  about: "Run the graph detect on a clip and score its detections and tracks against ground truth.",
  usage: "CLIP --gt FILE [--model NAME]",
  options: {
    gt: { type: "string", value: "FILE", about: "Ground truth: rows of frame,id,left,top,width,height,confidence." },
    model: { type: "string", value: "NAME", about: "The model, or the path of a model card; default: default." },
    class: {
      type: "string",
      value: "NAME",
      about: "Class of the ground-truth objects, as the model names it; default: person.",
    },
    every: {
      type: "string",
      value: "LIST",
      about: "Compare values of the param every: 1,5,motion. Prints a row for each.",
    },
    decode: {
      type: "string",
      value: "LIST",
      about: "Compare frames to decode: all,reference,keyframes. A row for each, and each of --every.",
    },
    tiles: {
      type: "string",
      value: "LIST",
      about:
        "Compare tiles of the element detect: none,3x2,motion (with --every motion). A row for each of the others.",
    },
    plot: plotTracks,
    whole: {
      type: "boolean",
      about: "Score the clip to its end: detections after the last ground-truth frame are false positives.",
    },
    json,
  },
  notes: [
    "Frame n of the ground truth, counted from 1, is frame n of the clip; boxes are in its pixels. Rows with confidence 0 mark regions to ignore: for AP50, detecting such an object is neither right nor wrong, and the tracking scores leave it out as published evaluations do. Frames after the last one of the ground truth are not scored, unless --whole is given. The graph runs at pace fast: every frame is inferred, and the same clip always gets the same scores.",
    "AP50 covers detections of the class down to a confidence of 0.01, at an overlap of 0.5, averaged over 101 recall levels as in COCO. The other scores are those of the tracks, as in `eval mot`; all in percent. frames/s is the throughput of the whole graph.",
    "With --every, inferred is the share of frames with inference, inferences their number per frame, one for each tile; all scores are those of the tracks on all frames, with predicted positions between inferences: recall is the share of ground-truth boxes found, AP50 that of the boxes of the tracks. With --decode, decoded is the share of decoded frames; a frame that is not decoded is scored with the tracks of the frame before. CPU ms is the processor time per frame of the clip.",
  ].join("\n"),
  examples: [
    "eval clip street.mp4 --gt gt.txt --model quality",
    "eval clip street.mp4 --gt gt.txt --every 1,5,motion",
    "eval clip street.mp4 --gt gt.txt --every 5 --decode all,reference",
    "eval clip wide.mp4 --gt gt.txt --every motion --tiles none,3x2,motion",
    "eval clip street.mp4 --gt gt.txt --plot street.svg --json",
  ],
  async run(given, terminal) {
    const { evalClip } = await loadTool("eval", () => import("../../tools/eval/eval-clip.ts"));
    return evalClip(given, terminal);
  },
} satisfies Command;

export const coco = {
  name: "eval coco",
  about: "Detect objects in images and score the detections against ground truth, with COCO's metrics.",
  usage: "DIR [--model NAME]",
  options: {
    model: { type: "string", value: "NAME", about: "The model, or the path of a model card; default: default." },
    confidence: {
      type: "string",
      value: "NUMBER",
      about: "Ignore detections below this confidence; default: 0.01.",
    },
    plot: {
      type: "string",
      value: "FILE.svg",
      about: "Plot precision over recall: all classes, and those with the most objects.",
    },
    json,
  },
  notes: [
    "DIR has images/ and instances.json, in COCO's format. Every image runs through the elements source, decode and detect, as a clip would. Classes are matched by name; classes that the model does not have are left out and listed.",
    "AP is the mean over classes and overlap thresholds from 0.50 to 0.95, AP50 and AP75 use one threshold, AP small, medium and large cover objects of up to 32², up to 96² and more pixels. AR is the share of objects found. Up to 100 detections per class and image; crowds count neither way. All in percent.",
  ].join("\n"),
  examples: ["eval coco val2017", "eval coco val2017 --model quality --plot quality.svg", "eval coco val2017 --json"],
  async run(given, terminal) {
    const { evalCoco } = await loadTool("eval", () => import("../../tools/eval/eval-coco.ts"));
    return evalCoco(given, terminal);
  },
} satisfies Command;

export const enhance = {
  name: "eval enhance",
  about: "Run report enhancement on objects in images and clips, and draw a contact sheet to check by eye.",
  usage: "DIR|CLIP… [--sheet FILE.svg]",
  options: {
    sheet: { type: "string", value: "FILE.svg", about: "Draw every object with its type, colour and plate." },
    classes: { type: "string", value: "NAMES", about: "Classes to enhance; default: car,bus,truck." },
    least: { type: "string", value: "PIXELS", about: "Minimum length of a box's longer side; default: 60." },
    model: { type: "string", value: "NAME", about: "The model that detects objects in clips; default: default." },
    json,
  },
  notes:
    "DIR has images/ and instances.json, in COCO's format; its boxes are cropped as the element report crops them. A CLIP runs through the graph detect, and every track gets the image that its report would have. Plates are read if `models get plates` has installed the plate reader.",
  examples: ["eval enhance val2017 --sheet sheet.svg", "eval enhance street.mp4 --classes car,person --json"],
  async run(given, terminal) {
    const { evalEnhance } = await loadTool("eval", () => import("../../tools/eval/eval-enhance.ts"));
    return evalEnhance(given, terminal);
  },
} satisfies Command;

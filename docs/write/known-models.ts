/** Facts about the included models that their cards do not contain: training, and measurements. */

export interface KnownModel {
  /** When to choose it. */
  readonly choose: string;
  readonly trainedOn: string;
  /** COCO AP in percent, as its authors published it; null if there is no published value for this input size. */
  readonly published: number | null;
  /** `eval coco`, 53 pictures of COCO val2017. */
  readonly coco: { readonly ap: number; readonly ap50: number; readonly small: number };
  /** `eval clip` on TUD-Stadtmitte, class person. */
  readonly centre: { readonly ap50: number; readonly hota: number };
  /** The same on the clip of the demo. */
  readonly demo: { readonly ap50: number; readonly hota: number } | null;
  /** Processor time of one inference on one core of a Neoverse-N1, the median. */
  readonly inferenceMs: number;
  /** One inference on one x86-64 core, the minimum of many. */
  readonly x64Ms: { readonly vnni: number; readonly withoutVnni: number };
}

const TRAINED = "COCO 2017, by Google, including the int8 quantisation";

export const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
  default: {
    choose: "Cameras at eye level or on a pole, if several streams share a machine or latency must be low.",
    trainedOn: TRAINED,
    published: 25.7,
    coco: { ap: 35.0, ap50: 52.5, small: 7.7 },
    centre: { ap50: 88.2, hota: 59.3 },
    demo: { ap50: 86.4, hota: 54.2 },
    inferenceMs: 39,
    x64Ms: { vnni: 13, withoutVnni: 29 },
  },
  aerial: {
    choose:
      "Drones and distant views, where objects are a few pixels wide: AP50 for cars in VisDrone is 58, and 19 with the same weights at 320×320. Not for close views: large objects are detected less reliably.",
    trainedOn: `the weights of \`default\`, with a larger input: ${TRAINED}`,
    published: null,
    coco: { ap: 29.9, ap50: 49.6, small: 23.7 },
    centre: { ap50: 87.9, hota: 56.7 },
    demo: null,
    inferenceMs: 342,
    x64Ms: { vnni: 115, withoutVnni: 249 },
  },
  quality: {
    choose: "One stream on a machine with free cores, recordings at pace fast, small or crowded objects.",
    trainedOn: TRAINED,
    published: 34.0,
    coco: { ap: 41.4, ap50: 59.3, small: 16.5 },
    centre: { ap50: 88.9, hota: 56.3 },
    demo: { ap50: 93.2, hota: 59.7 },
    inferenceMs: 115,
    x64Ms: { vnni: 34, withoutVnni: 81 },
  },
};

/** Milliseconds of an inference on x86-64 without VNNI, minimum and median, and AP in percent. */
export const NARROWED = [
  { model: "default", exactMs: [48.6, 51], narrowedMs: [28.7, 29.4], ap: { exact: 34.9, narrowed: 35.1 } },
  { model: "aerial", exactMs: [455, 460], narrowedMs: [249, 253], ap: { exact: 29.6, narrowed: 30 } },
  { model: "quality", exactMs: [142, 149], narrowedMs: [80.5, 81.9], ap: { exact: 41.4, narrowed: 41.8 } },
] as const;

/** Results of `windhover eval clip --every 1,5,motion` with the model `default`, in percent. */
export const EVERY_SCORES = [
  { clip: "town centre", every: "1", inferred: 100, recall: 83.5, ap50: 83, hota: 59.3 },
  { clip: "town centre", every: "5", inferred: 20.1, recall: 77.5, ap50: 76.5, hota: 53 },
  { clip: "town centre", every: "motion", inferred: 36.9, recall: 83.6, ap50: 82.9, hota: 59.8 },
  { clip: "demo street", every: "1", inferred: 100, recall: 86.6, ap50: 81.3, hota: 54.2 },
  { clip: "demo street", every: "5", inferred: 20, recall: 72.4, ap50: 59.2, hota: 45.7 },
  { clip: "demo street", every: "motion", inferred: 100, recall: 86.6, ap50: 81.3, hota: 54.2 },
  { clip: "moving camera", every: "1", inferred: 100, recall: 83.8, ap50: 83.1, hota: 58.4 },
  { clip: "moving camera", every: "5", inferred: 20.1, recall: 78.5, ap50: 77.8, hota: 53.3 },
  { clip: "moving camera", every: "motion", inferred: 38.5, recall: 81.8, ap50: 80.9, hota: 55.3 },
] as const;

/** Results of `windhover eval clip --every 1,5,motion --decode all,reference,keyframes` with `default`; shares in percent. */
export const DECODE_SCORES = [
  { clip: "town centre", every: "1", decode: "all", decoded: 100, recall: 84.1, ap50: 83, hota: 57.7, cpuMs: 55.87 },
  {
    clip: "town centre",
    every: "1",
    decode: "reference",
    decoded: 65.9,
    recall: 82.8,
    ap50: 82,
    hota: 58.8,
    cpuMs: 38.5,
  },
  {
    clip: "town centre",
    every: "1",
    decode: "keyframes",
    decoded: 22.2,
    recall: 60.2,
    ap50: 46.8,
    hota: 39.7,
    cpuMs: 16.38,
  },
  { clip: "town centre", every: "5", decode: "all", decoded: 100, recall: 79.1, ap50: 78.9, hota: 52.6, cpuMs: 17.91 },
  {
    clip: "town centre",
    every: "5",
    decode: "reference",
    decoded: 65.9,
    recall: 77.9,
    ap50: 76.3,
    hota: 53,
    cpuMs: 17.02,
  },
  {
    clip: "town centre",
    every: "5",
    decode: "keyframes",
    decoded: 22.2,
    recall: 59.9,
    ap50: 45.4,
    hota: 38.6,
    cpuMs: 9.52,
  },
  {
    clip: "town centre",
    every: "motion",
    decode: "all",
    decoded: 100,
    recall: 81.2,
    ap50: 80.9,
    hota: 55.6,
    cpuMs: 27.16,
  },
  {
    clip: "town centre",
    every: "motion",
    decode: "reference",
    decoded: 65.9,
    recall: 80.8,
    ap50: 79.9,
    hota: 54.7,
    cpuMs: 24.04,
  },
  {
    clip: "town centre",
    every: "motion",
    decode: "keyframes",
    decoded: 22.2,
    recall: 60.8,
    ap50: 46.8,
    hota: 39.4,
    cpuMs: 12.29,
  },
  { clip: "demo street", every: "1", decode: "all", decoded: 100, recall: 85.8, ap50: 80.4, hota: 54.5, cpuMs: 54.84 },
  {
    clip: "demo street",
    every: "1",
    decode: "reference",
    decoded: 74.2,
    recall: 83,
    ap50: 75.9,
    hota: 47.2,
    cpuMs: 40.56,
  },
  {
    clip: "demo street",
    every: "1",
    decode: "keyframes",
    decoded: 11.8,
    recall: 35.7,
    ap50: 15.1,
    hota: 19.3,
    cpuMs: 8.64,
  },
  { clip: "demo street", every: "5", decode: "all", decoded: 100, recall: 72.3, ap50: 59.4, hota: 44.5, cpuMs: 15.72 },
  {
    clip: "demo street",
    every: "5",
    decode: "reference",
    decoded: 74.2,
    recall: 69.8,
    ap50: 56.7,
    hota: 42.2,
    cpuMs: 15.24,
  },
  {
    clip: "demo street",
    every: "5",
    decode: "keyframes",
    decoded: 11.8,
    recall: 35.3,
    ap50: 15,
    hota: 19.2,
    cpuMs: 7.91,
  },
  {
    clip: "demo street",
    every: "motion",
    decode: "all",
    decoded: 100,
    recall: 85.8,
    ap50: 80.4,
    hota: 54.5,
    cpuMs: 54.44,
  },
  {
    clip: "demo street",
    every: "motion",
    decode: "reference",
    decoded: 74.2,
    recall: 83,
    ap50: 75.9,
    hota: 47.2,
    cpuMs: 45.28,
  },
  {
    clip: "demo street",
    every: "motion",
    decode: "keyframes",
    decoded: 11.8,
    recall: 35.7,
    ap50: 15.1,
    hota: 19.3,
    cpuMs: 8.75,
  },
  {
    clip: "moving camera",
    every: "1",
    decode: "all",
    decoded: 100,
    recall: 85.3,
    ap50: 84.9,
    hota: 58.1,
    cpuMs: 57.65,
  },
  {
    clip: "moving camera",
    every: "1",
    decode: "reference",
    decoded: 68.2,
    recall: 82.4,
    ap50: 82,
    hota: 56.7,
    cpuMs: 40.12,
  },
  {
    clip: "moving camera",
    every: "1",
    decode: "keyframes",
    decoded: 22.7,
    recall: 55.8,
    ap50: 40.9,
    hota: 33.9,
    cpuMs: 16.35,
  },
  {
    clip: "moving camera",
    every: "5",
    decode: "all",
    decoded: 100,
    recall: 78.5,
    ap50: 77.8,
    hota: 53.5,
    cpuMs: 19.11,
  },
  {
    clip: "moving camera",
    every: "5",
    decode: "reference",
    decoded: 68.2,
    recall: 76.6,
    ap50: 75.5,
    hota: 52.4,
    cpuMs: 16.79,
  },
  {
    clip: "moving camera",
    every: "5",
    decode: "keyframes",
    decoded: 22.7,
    recall: 49.1,
    ap50: 36.3,
    hota: 28.2,
    cpuMs: 9.8,
  },
  {
    clip: "moving camera",
    every: "motion",
    decode: "all",
    decoded: 100,
    recall: 81.1,
    ap50: 80.8,
    hota: 55.5,
    cpuMs: 29.76,
  },
  {
    clip: "moving camera",
    every: "motion",
    decode: "reference",
    decoded: 68.2,
    recall: 80.4,
    ap50: 79.7,
    hota: 55.3,
    cpuMs: 25.51,
  },
  {
    clip: "moving camera",
    every: "motion",
    decode: "keyframes",
    decoded: 22.7,
    recall: 53,
    ap50: 40,
    hota: 33,
    cpuMs: 13.15,
  },
] as const;

/** `windhover eval clip --every --tiles`, in percent; the place of a clip in the wide picture. */
export const TILE_SCORES = [
  { clip: "people in a corner", every: "1", tiles: "none", inferences: 1, recall: 43.1, ap50: 33.2, hota: 27.8 },
  { clip: "people in a corner", every: "1", tiles: "3 × 2", inferences: 7, recall: 83.6, ap50: 81.9, hota: 47.2 },
  { clip: "people in a corner", every: "motion", tiles: "none", inferences: 0.4, recall: 40.2, ap50: 32.2, hota: 29.4 },
  { clip: "people in a corner", every: "motion", tiles: "3 × 2", inferences: 2.74, recall: 78.3, ap50: 77.3, hota: 49.9 },
  { clip: "people in a corner", every: "motion", tiles: "motion", inferences: 1.04, recall: 80.4, ap50: 78.9, hota: 48.7 },
  { clip: "people in the middle", every: "1", tiles: "none", inferences: 1, recall: 53, ap50: 47.1, hota: 30.9 },
  { clip: "people in the middle", every: "1", tiles: "3 × 2", inferences: 7, recall: 82.7, ap50: 81, hota: 45.8 },
  { clip: "people in the middle", every: "motion", tiles: "none", inferences: 0.39, recall: 50.9, ap50: 44.9, hota: 37.4 },
  { clip: "people in the middle", every: "motion", tiles: "3 × 2", inferences: 2.7, recall: 81.7, ap50: 79.9, hota: 50 },
  { clip: "people in the middle", every: "motion", tiles: "motion", inferences: 2.18, recall: 81.7, ap50: 79.9, hota: 50 },
] as const;

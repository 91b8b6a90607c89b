/** The included models, from their cards and from known-models.ts. */
import type { ModelCard } from "../../models/card.ts";
import { listCardFiles } from "../../models/find-card.ts";
import { COCO } from "../../models/labels.ts";
import { readCard } from "../../models/read-card.ts";
import { DECODE_SCORES, EVERY_SCORES, KNOWN_MODELS, type KnownModel, NARROWED, TILE_SCORES } from "./known-models.ts";
import { code, made, table } from "./markdown.ts";

export function writeModels(): string {
  const models = listCardFiles()
    .filter(({ origin }) => origin === "windhover")
    .map(({ file }) => readCard(file))
    .map((card) => ({ card, known: findKnown(card.model) }));
  return [
    made("the cards below models/cards/ and docs/write/known-models.ts"),
    "# Models",
    "The set-up installs these models. It downloads the weights and checks them against the digest in the card; this repository contains none. [Detection](detection.md#models) describes how to import your own models, and how to measure them.",
    table(
      ["Model", "Input", "Inference", "Inferences/s per core", "COCO AP", "Use it for"],
      models.map(({ card: { model, input }, known: { inferenceMs, coco, choose } }) => [
        `[${model}](#${model})`,
        `${input.width}×${input.height}`,
        `${inferenceMs} ms`,
        (1000 / inferenceMs).toFixed(inferenceMs > 100 ? 1 : 0),
        coco.ap.toFixed(1),
        choose,
      ]),
    ),
    [
      "**Inference** is the processor time of one inference with one thread, on a core of an ARM Neoverse-N1; `--stats` of `windhover run` and `inference_ms` of a process show it for your machine.",
      "**COCO AP** is the result of `windhover eval coco` on 53 images of val2017, AP50 the same at an overlap of 0.5; with so few images, compare these models only with each other.",
      "**Town centre** is `windhover eval clip` on MOT15's TUD-Stadtmitte, 179 frames of people who occlude each other: AP50 of detections, HOTA of tracks; **demo street** the same on the clip of the demo, whose 795 frames are MOT15's PETS09-S2L1.",
    ].join(" "),
    ...models.map(writeModel),
    "## Fewer inferences",
    table(
      ["Clip", "`every`", "Frames inferred", "Recall", "AP50", "HOTA"],
      EVERY_SCORES.map(({ clip, every, inferred, recall, ap50, hota }) => [
        clip,
        `\`${every}\``,
        `${percent(inferred)} %`,
        ...[recall, ap50, hota].map(percent),
      ]),
    ),
    "`windhover eval clip --every 1,5,motion` with the model `default`: all scores are those of [tracks](tracking.md) on all frames, with predicted positions between inferences. The town centre has 25 fps and the demo street 10 fps; people walk all the time in both, so that `motion` runs inference at its highest rate, 12 per second at most: on every third frame of the town centre, on every frame of the demo street. Where an object has appeared, or has disappeared altogether, the next frame is inferred as well, so that new tracks are confirmed at once; an object that is only less confident needs none. That is why `motion` finds as much as `every: 1` in the town centre. With inference on a fixed third of its frames instead, recall is 79.1, 81.8 or 81.9, depending on which third. **Moving camera** is the clip of the town centre, cropped to 570 × 480 by a window that swings sideways by 70 pixels every 3 seconds: everything changes, and inference runs at the same rate. `motion` saves most where little moves.",
    "## Wide pictures",
    table(
      ["Clip", "`every`", "`tiles`", "Inferences per frame", "Recall", "AP50", "HOTA"],
      TILE_SCORES.map(({ clip, every, tiles, inferences, recall, ap50, hota }) => [
        clip,
        code(every),
        tiles === "motion" ? code(tiles) : tiles,
        inferences.toFixed(2),
        ...[recall, ap50, hota].map(percent),
      ]),
    ),
    "`windhover eval clip --every motion --tiles none,3x2,motion` with the model `default`, whose input is a sixth as wide as these pictures: the town centre at its own size in a still picture of 1920 × 1080. In the corner it covers four of the six tiles in part, in the middle all of them. Tiles nearly double what is found. `tiles: motion` infers the tiles in which something has changed, and the whole picture for what tiles cut: as much is found, with less than two fifths of the inferences where the movement is in a part of the picture, and nearly all of them where it is in the middle.",
    "## Fewer decoded frames",
    table(
      ["Clip", "`every`", "`decode`", "Frames decoded", "Recall", "AP50", "HOTA", "Processor time"],
      DECODE_SCORES.map(({ clip, every, decode, decoded, recall, ap50, hota, cpuMs }) => [
        clip,
        `\`${every}\``,
        `\`${decode}\``,
        `${percent(decoded)} %`,
        ...[recall, ap50, hota].map(percent),
        `${cpuMs.toFixed(1)} ms`,
      ]),
    ),
    "`windhover eval clip --every 1,5,motion --decode all,reference,keyframes` on these clips, encoded again as a camera with B-frames does (x264, up to two B-frames, a keyframe per second), so that the rows with `all` differ by up to 2.4 points of recall from those above; the moving camera is another crop with the same movement. A frame that is not decoded is scored with the tracks of the frame before, as a receiver of messages has them. Processor time is that of the whole process per frame of the clip, in one run each on a busy machine: compare rows of one clip only. [What is decoded](operations.md#fewer-decoded-frames) without being asked for is never less than `every` needs. `keyframes` is for scenes in which one inference per second is enough: walking people are lost.",
    "The decoder alone, on a clip of 720p, a third of whose frames no other refers to: `reference` takes 0.73 of its processor time (81 of 120 frames), `keyframes` 0.33 (37 of 120: the first two seconds are decoded completely); medians of 7 interleaved rounds. `skip-frame` of GStreamer 1.22's `avdec_h264` saves nothing (1.00 and 1.01), which is why frames are left out before it.",
    "## CPUs",
    table(
      ["Model", "ARM Neoverse-N1", "x86-64 with VNNI", "x86-64 without VNNI"],
      models.map(({ card: { model }, known: { inferenceMs, x64Ms } }) => [
        model,
        `${inferenceMs} ms`,
        `${x64Ms.vnni} ms`,
        `${x64Ms.withoutVnni} ms`,
      ]),
    ),
    "One inference, one thread: the median on ARM, the minimum on x86-64 (Sapphire Rapids with VNNI, Skylake with AVX-512 without it). CPUs without VNNI (`grep -o 'avx512_vnni\\|avx_vnni' /proc/cpuinfo` prints nothing) add products of int8 numbers in 16 bits, which can overflow. For these CPUs, the conversion narrows pairs of weights so that they cannot, without a loss of COCO AP. Measured on Skylake in turns, against the same weights with onnxruntime's exact kernels:",
    table(
      ["Model", "exact kernels, min / median", "narrowed pairs, min / median", "AP exact", "AP narrowed"],
      NARROWED.map(({ model, exactMs, narrowedMs, ap }) => [
        model,
        `${exactMs.join(" / ")} ms`,
        `${narrowedMs.join(" / ")} ms`,
        ap.exact.toFixed(1),
        ap.narrowed.toFixed(1),
      ]),
    ),
    "The cache stores the conversion for each kind of CPU under its own name, so that machines can share a cache; `npx windhover models get --every-cpu` creates all of them, as the image does.",
    "Imported models keep their weights. For int8 models, onnxruntime uses slower, exact kernels on x86-64 without VNNI, and only there.",
    "## COCO classes",
    `${COCO.join(", ")}. \`class_id\` is the index in this list, from 0.`,
    "## Number plate reader",
    "Two PP-OCRv4 networks (Apache-2.0, 15 MB in total), used only by [report enhancement](reports.md#enhancement): one finds text, the other reads it. They have no card; `npx windhover models get plates` downloads them if the set-up could not.",
  ].join("\n\n");
}

function findKnown(model: string): KnownModel {
  const known = KNOWN_MODELS[model];
  if (known === undefined) throw new Error(`docs/write/known-models.ts has no entry for ${model}`);
  return known;
}

function writeModel({ card, known }: { readonly card: ModelCard; readonly known: KnownModel }): string {
  const { model, about, licence, input, bytes, labels, thresholds, sha256, sources } = card;
  const { trainedOn, published, coco, centre, demo, inferenceMs } = known;
  const classes = labels === "coco" ? `${COCO.length}, [COCO](#coco-classes)` : labels.join(", ");
  return [
    `## ${model}`,
    about,
    table(
      ["", ""],
      [
        ["Trained on", trainedOn],
        ["Licence", licence],
        [
          "Weights",
          `${megabytes(bytes)}, sha256 ${code(sha256.slice(0, 12))}…, from ${sources.map(nameSource).join(" or ")}`,
        ],
        ["Input", `${input.width}×${input.height}, ${input.type}, ${input.fit}`],
        ["Classes", classes],
        [
          "Thresholds",
          `confidence ${thresholds.confidence}; detections from ${thresholds.weak} on can continue a track`,
        ],
        ["Inference", `${inferenceMs} ms`],
        [
          "COCO AP, published",
          published === null ? "not for this input" : `${published.toFixed(1)}, by its authors on all of val2017`,
        ],
        ["COCO AP, measured", `${percent(coco.ap)}; AP50 ${percent(coco.ap50)}; small objects ${percent(coco.small)}`],
        ["Town centre", `AP50 ${percent(centre.ap50)}, HOTA ${percent(centre.hota)}`],
        ["Demo street", demo === null ? "not measured" : `AP50 ${percent(demo.ap50)}, HOTA ${percent(demo.hota)}`],
      ],
    ),
  ].join("\n\n");
}

const percent = (value: number): string => value.toFixed(1);
const megabytes = (bytes: number | undefined): string => (bytes === undefined ? "?" : `${(bytes / 1e6).toFixed(1)} MB`);

const nameSource = (source: ModelCard["sources"][number]): string => {
  if ("npm" in source) return `npm ${code(source.npm)}`;
  return "url" in source ? source.url : code(source.path);
};

/** The models that come with Windhover, from their cards and from what is known of them besides. */
import type { ModelCard } from "../../models/card.ts";
import { listCardFiles } from "../../models/find-card.ts";
import { COCO } from "../../models/labels.ts";
import { readCard } from "../../models/read-card.ts";
import { KNOWN_MODELS, type KnownModel } from "./known-models.ts";
import { code, made, table } from "./markdown.ts";

export function writeModels(): string {
  const models = listCardFiles()
    .filter(({ origin }) => origin === "windhover")
    .map(({ file }) => readCard(file))
    .map((card) => ({ card, known: findKnown(card.model) }));
  return [
    made("the cards below models/cards/ and docs/write/known-models.ts"),
    "# Models",
    "These are there after the set-up. Weights are fetched and checked against the digest of their card; none are in this repository. [Seeing](detection.md#models) tells how to bring your own, and how to measure.",
    table(
      ["Model", "Input", "One look", "Looks a second a core", "COCO AP", "Take it for"],
      models.map(({ card: { model, input }, known: { lookMs, coco, choose } }) => [
        `[${model}](#${model})`,
        `${input.width}×${input.height}`,
        `${lookMs} ms`,
        (1000 / lookMs).toFixed(lookMs > 100 ? 1 : 0),
        coco.ap.toFixed(1),
        choose,
      ]),
    ),
    [
      "**One look** is the processor time of one inference, one thread, on a core of an ARM Neoverse-N1; `--stats` of `windhover run` and `inference_ms` of a process show it on yours.",
      "**COCO AP** is what `windhover eval coco` finds on 53 pictures of val2017, AP50 the same at an overlap of one half; so few pictures serve to compare these models, and no others.",
      "**On a street** is `windhover eval clip` on MOT15's TUD-Stadtmitte, 179 frames of people who hide one another: AP50 of detections, HOTA of the tracks; **on a campus** the same on PETS09-S2L1, all 795 frames of the demo's clip.",
    ].join(" "),
    ...models.map(writeModel),
    "## CPUs",
    table(
      ["Model", "ARM Neoverse-N1", "x86-64 with VNNI", "x86-64 without VNNI"],
      models.map(({ card: { model }, known: { lookMs, x64Ms } }) => [
        model,
        `${lookMs} ms`,
        `${x64Ms.vnni} ms`,
        x64Ms.withoutVnni === null ? "–" : `${x64Ms.withoutVnni} ms`,
      ]),
    ),
    "One inference, one thread: the median on ARM, the minimum on x86-64 (Sapphire Rapids). The times without VNNI are those of a prototype of this conversion, on AVX-512; they were not measured again with the weights that are made now. Processors that `grep -o 'avx512_vnni\\|avx_vnni' /proc/cpuinfo` finds nothing on add products of int8 numbers in 16 bits, where they overflow. There the conversion narrows pairs of weights so that they cannot, at no loss of COCO AP that the pictures above could show. The conversion for each kind of CPU has a name of its own in the cache, so that machines may share one; `npx windhover models get --every-cpu` makes all of them, as the image does.",
    "Models that you import keep their weights. If they are int8, onnxruntime takes slower, precise kernels for them on an x86-64 without VNNI, and only there.",
    "## Classes of COCO",
    `${COCO.join(", ")}. \`class_id\` is the place in this list, from 0.`,
    "## What reads number plates",
    "Two networks of PP-OCRv4 (Apache-2.0, 15 MB together), in the [enhancement of reports](reports.md#enhancement) alone: one finds where text is, the other reads it. They have no card; `npx windhover models get plates` fetches them where the set-up could not.",
  ].join("\n\n");
}

function findKnown(model: string): KnownModel {
  const known = KNOWN_MODELS[model];
  if (known === undefined) throw new Error(`docs/write/known-models.ts has nothing of ${model}`);
  return known;
}

function writeModel({ card, known }: { readonly card: ModelCard; readonly known: KnownModel }): string {
  const { model, about, licence, input, bytes, labels, thresholds, sha256, sources } = card;
  const { trainedOn, published, coco, street, campus, lookMs } = known;
  const classes = labels === "coco" ? `${COCO.length}, [those of COCO](#classes-of-coco)` : labels.join(", ");
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
        ["What counts as seen", `confidence ${thresholds.confidence}; from ${thresholds.weak} on it may hold a track`],
        ["One look", `${lookMs} ms`],
        [
          "COCO AP, published",
          published === null ? "not for this input" : `${published.toFixed(1)}, by its makers on all of val2017`,
        ],
        ["COCO AP, measured", `${percent(coco.ap)}; AP50 ${percent(coco.ap50)}; small objects ${percent(coco.small)}`],
        ["On a street", `AP50 ${percent(street.ap50)}, HOTA ${percent(street.hota)}`],
        [
          "On a campus",
          campus === null ? "not measured" : `AP50 ${percent(campus.ap50)}, HOTA ${percent(campus.hota)}`,
        ],
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

/** What there is to know of a model, as data and as a page. */
import { readFileSync, statSync } from "node:fs";
import { nameSource } from "../../models/fetch/weights.ts";
import type { FoundCard } from "../../models/find-card.ts";
import { isInstalled, labelsOf, openCard } from "../../models/open.ts";
import type { Paint } from "../terminal.ts";
import { PAGE_COLUMNS, padTo, wrap } from "../text.ts";

export const formatMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

export async function summarise(found: FoundCard) {
  const { card, file, origin } = found;
  const {
    model: name,
    about,
    licence,
    sha256,
    bytes = null,
    sources,
    input,
    decoder,
    thresholds,
    convert = null,
  } = card;
  const installed = await isInstalled(found);
  const onnx = installed ? (await openCard(found)).file : null;
  return {
    ...{
      name,
      about,
      licence,
      origin,
      card: file,
      installed,
      onnx,
      onnxBytes: onnx === null ? null : statSync(onnx).size,
    },
    ...{ sources, sha256, bytes, convert, input, labels: labelsOf(card), decoder, thresholds },
    yaml: readFileSync(file, "utf8"),
  };
}

export type Summary = Awaited<ReturnType<typeof summarise>>;

const LEFT = 12;

const indent = (text: string): string => text.replaceAll("\n", `\n${" ".repeat(LEFT)}`);

export function formatSummary(summary: Summary, paint: Paint): string {
  const { name, about, licence, installed, onnx, onnxBytes, sources, sha256, bytes, input, thresholds } = summary;
  const { width, height, type, layout, colours, fit, anchor, padding, mean, std } = input;
  const rows: [string, string][] = [
    ["licence", licence],
    [
      "installed",
      installed ? `${onnx} (${formatMegabytes(onnxBytes ?? 0)})` : `no; run: npx windhover models get ${name}`,
    ],
    ["card", summary.card],
    ...sources.map((source, i): [string, string] => [i === 0 ? "from" : "or", nameSource(source)]),
    ["sha256", `${sha256}${bytes === null ? "" : `, ${formatMegabytes(bytes)}`}`],
    ...(summary.convert === null ? [] : [["converted", `from ${summary.convert.from}`] as [string, string]]),
    [
      "input",
      `${width}×${height} ${colours} ${type} ${layout}, ${fit}${fit === "letterbox" ? ` ${anchor} on ${padding}` : ""}`,
    ],
    ...(mean === undefined && std === undefined
      ? []
      : [["", `mean ${mean ?? "0"}; std ${std ?? "1"}`] as [string, string]]),
    [
      "decoder",
      Object.entries(summary.decoder)
        .map(([key, value]) => (key === "family" ? value : `${key} ${JSON.stringify(value)}`))
        .join(", "),
    ],
    [
      "thresholds",
      Object.entries(thresholds)
        .map(([key, value]) => `${key} ${value}`)
        .join(", "),
    ],
    ["labels", `${summary.labels.length}: ${summary.labels.join(", ")}`],
  ];
  return [
    paint("bold", name),
    wrap(about, PAGE_COLUMNS),
    "",
    ...rows.map(([key, text]) => padTo(key, LEFT) + indent(wrap(text, PAGE_COLUMNS - LEFT))),
    "",
    summary.yaml.trimEnd(),
  ].join("\n");
}

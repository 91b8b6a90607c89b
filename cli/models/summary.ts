/** The description of a model, as data and as a page. */
import { readFileSync, statSync } from "node:fs";
import type { ModelCard } from "../../models/card.ts";
import { ModelFault, NotInstalled } from "../../models/fault.ts";
import { nameSource } from "../../models/fetch/weights.ts";
import { type FoundCard, getCommand, listCardFiles } from "../../models/find-card.ts";
import { isInstalled, labelsOf, locateCard } from "../../models/open.ts";
import { readCard } from "../../models/read-card.ts";
import { readTuning, type Tuning } from "../../models/tuning.ts";
import { PAGE_COLUMNS, type Paint, padTo, wrap } from "../text.ts";

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
  const { installed, onnx, fault } = await inspect(found);
  const tuning = onnx === null ? null : await readTuning(card, onnx);
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
      fault,
      get: getCommand(found),
      tuning,
    },
    ...{ sources, sha256, bytes, convert, input, labels: labelsOf(card), decoder, thresholds },
    yaml: readFileSync(file, "utf8"),
  };
}

interface Installation {
  readonly installed: boolean;
  /** Null also if it is converted when it is first opened. */
  readonly onnx: string | null;
  /** What is wrong with the files of the model; null if they are not installed. */
  readonly fault: string | null;
}

async function inspect(found: FoundCard): Promise<Installation> {
  try {
    const { onnx } = await locateCard(found);
    return { installed: true, onnx, fault: null };
  } catch (error) {
    if (!(error instanceof ModelFault)) throw error;
    return { installed: false, onnx: null, fault: error instanceof NotInstalled ? null : error.message };
  }
}

export type Summary = Awaited<ReturnType<typeof summarise>>;

const LEFT = 12;

const indent = (text: string): string => text.replaceAll("\n", `\n${" ".repeat(LEFT)}`);

/** Text with line breaks is left as it is. */
const wrapLine = (text: string): string => (text.includes("\n") ? text : wrap(text, PAGE_COLUMNS - LEFT));

export function formatSummary(summary: Summary, paint: Paint): string {
  const { name, about, licence, sources, sha256, bytes, input, thresholds } = summary;
  const { width, height, type, layout, colours, fit, anchor, padding, mean, std } = input;
  const rows: [string, string][] = [
    ["licence", licence],
    ["installed", formatInstallation(summary)],
    ["card", summary.card],
    ...sources.map((source, i): [string, string] => [i === 0 ? "from" : "or", nameSource(source)]),
    ["sha256", `${sha256}${bytes === null ? "" : `, ${formatMegabytes(bytes)}`}`],
    ...(summary.convert === null ? [] : [["converted", `from ${summary.convert.from}`] as [string, string]]),
    ...(summary.tuning === null ? [] : [["cpu", formatTuning(summary.tuning)] as [string, string]]),
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
    ...rows.map(([key, text]) => padTo(key, LEFT) + indent(wrapLine(text))),
    "",
    summary.yaml.trimEnd(),
  ].join("\n");
}

export function formatTuning({ precision, threads, measured }: Tuning): string {
  const rows = measured.map(
    (one) => `${one.precision} ${one.cpuMs} ms${one.threads > 1 ? `, ${one.ms} ms in ${one.threads} threads` : ""}`,
  );
  return `${precision}, ${threads === 1 ? "one thread" : `${threads} threads`} (processor time of an inference: ${rows.join("; ")})`;
}

function formatInstallation({ installed, onnx, onnxBytes, fault, get }: Summary): string {
  if (fault !== null) return `no: ${fault}`;
  if (!installed) return `no; run: ${get}`;
  return onnx === null ? "yes; converted when it is first opened" : `${onnx} (${formatMegabytes(onnxBytes ?? 0)})`;
}

export interface InstalledModel {
  readonly name: string;
  readonly labels: readonly string[];
}

/** By file, with what the file was then: a server lists the models for every process that it starts. */
const readCards = new Map<string, { readonly state: string; readonly card: ModelCard }>();

function readKnownCard(file: string): ModelCard {
  const { ino, size, mtimeNs } = statSync(file, { bigint: true });
  const state = `${ino} ${size} ${mtimeNs}`;
  const known = readCards.get(file);
  if (known?.state === state) return known.card;
  const card = readCard(file);
  readCards.set(file, { state, card });
  return card;
}

/** Models whose weights are installed; invalid cards are skipped. */
export async function listInstalled(): Promise<readonly InstalledModel[]> {
  const found = listCardFiles().map(async ({ name, file, origin }) => {
    try {
      const card = readKnownCard(file);
      const isThere = await isInstalled({ card, file, origin, askedFor: name });
      return isThere ? [{ name, labels: labelsOf(card) }] : [];
    } catch {
      return [];
    }
  });
  return (await Promise.all(found)).flat();
}

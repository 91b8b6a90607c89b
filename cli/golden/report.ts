/** A comparison as text: the first difference in full, some of the next, then counts of all. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { Paint } from "../text.ts";
import type { StreamComparison } from "./compare.ts";
import type { Difference, DifferenceKind } from "./difference.ts";

const SHOWN = 10;
const SHOWN_IDS = 12;

export function reportComparison(streams: readonly StreamComparison[], paint: Paint): readonly string[] {
  return streams.flatMap((stream) => [...reportDifferences(stream, paint), ...reportSummary(stream)]);
}

function reportDifferences({ node, differences }: StreamComparison, paint: Paint): readonly string[] {
  const [first, ...rest] = differences;
  if (first === undefined) return [];
  const more = rest.length - SHOWN;
  return [
    `${paint("bold", `${node}: first difference:`)} ${describe(first)}`,
    ...(first.golden === null ? [] : [`    golden  ${JSON.stringify(first.golden)}`]),
    ...(first.now === null ? [] : [`    now     ${JSON.stringify(first.now)}`]),
    ...rest.slice(0, SHOWN).map((difference) => `  ${describe(difference)}`),
    ...(more > 0 ? [`  … and ${more} more; use --json for all of them`] : []),
  ];
}

export function describe({ frame, timeMs, track, what }: Difference): string {
  if (frame === null) return what;
  const time = timeMs === null ? "" : ` (${(timeMs / 1000).toFixed(3)} s)`;
  const subject = track === null ? "" : track === 0 ? "an object " : `track ${track} `;
  return `frame ${frame}${time}: ${subject}${what}`;
}

/** The counts of the summary, for text and `--json`. */
export function summarise({ node, channel, messages, objects, differences, excused }: StreamComparison): JsonRecord {
  const of = (kind: DifferenceKind) => differences.filter((difference) => difference.kind === kind);
  const worst = (kind: DifferenceKind): JsonRecord | null => {
    const [most] = of(kind).sort((a, b) => (b.amount ?? 0) - (a.amount ?? 0));
    return most === undefined ? null : { amount: round(most.amount ?? 0), frame: most.frame, track: most.track };
  };
  const tracks = (kind: DifferenceKind) => [...new Set(of(kind).map(({ track }) => track))];
  return {
    node,
    channel,
    frames: messages,
    frames_differing: new Set(differences.flatMap(({ frame }) => frame ?? [])).size,
    messages_on_one_side: of("message").length,
    boxes: of("box").length,
    worst_box_px: worst("box"),
    confidences: of("confidence").length,
    worst_confidence_points: worst("confidence"),
    classes: tracks("class").length,
    missing: of("missing").length,
    missing_tracks: tracks("missing"),
    extra: of("extra").length,
    extra_tracks: tracks("extra"),
    other_ids: of("id").length,
    other_values: of("value").length,
    overall: of("overall").map(({ what }) => what),
    objects,
    excused,
  };
}

const round = (value: number): number => Math.round(value * 100) / 100;

function reportSummary(stream: StreamComparison): readonly string[] {
  const { node, objects, differences, excused, messages } = stream;
  const counts = summarise(stream);
  const note = excused === 0 ? [] : [`  ${excused} of ${objects} objects differ within the tolerance`];
  if (differences.length === 0) return [`${node}: ${messages} frames, no differences`, ...note];
  const line = (label: string, count: unknown, detail = ""): readonly string[] =>
    count === 0 ? [] : [`  ${label.padEnd(24)}${count}${detail}`];
  return [
    `${node}: ${counts.frames_differing} of ${messages} frames differ${counts.frames_differing === 0 ? " individually" : ""}`,
    ...line("frames in one run only", counts.messages_on_one_side),
    ...line("boxes", counts.boxes, describeWorst(counts.worst_box_px, "px")),
    ...line("confidences", counts.confidences, describeWorst(counts.worst_confidence_points, "points")),
    ...line("tracks of another class", counts.classes),
    ...line("missing objects", counts.missing, describeTracks(counts.missing_tracks)),
    ...line("extra objects", counts.extra, describeTracks(counts.extra_tracks)),
    ...line("other ids", counts.other_ids),
    ...line("other values", counts.other_values),
    ...differences.filter(({ kind }) => kind === "overall").map(({ what }) => `  ${what}`),
    ...note,
  ];
}

function describeWorst(worst: JsonRecord[string] | undefined, unit: string): string {
  if (worst === null || typeof worst !== "object" || Array.isArray(worst)) return "";
  const { amount, frame, track } = worst as JsonRecord;
  return `, worst ${amount} ${unit} at frame ${frame}${track === null ? "" : `, track ${track}`}`;
}

const describeTracks = (tracks: JsonRecord[string] | undefined): string =>
  Array.isArray(tracks) ? `, of ${tracks.length === 1 ? "track" : "tracks"} ${listIds(tracks.map(String))}` : "";

const listIds = (ids: readonly string[]): string =>
  ids.length <= SHOWN_IDS ? ids.join(", ") : `${ids.slice(0, SHOWN_IDS).join(", ")} … (${ids.length})`;

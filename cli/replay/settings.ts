/** The arguments and options of `replay`. */

import { type Given, type Options, UsageFault } from "../command.ts";
import { readGraphWords } from "../compile-graph.ts";
import { RUN_OPTIONS } from "../run/settings.ts";
import { readTelemetryOrder, type TelemetryOrder } from "../run/telemetry-file.ts";

export const REPLAY_OPTIONS = {
  alerts: {
    type: "string",
    value: "FILE",
    about: "Bodies of POST /alert, in YAML or JSON: one, a list, or a response of GET /alerts.",
  },
  subscriptions: {
    type: "string",
    value: "FILE",
    about: "Bodies of POST /subscribe, or a response of GET /subscriptions/{process_uuid}.",
  },
  from: {
    type: "string",
    value: "FILE",
    about: "Recorded detection messages, or a golden file, instead of CLIP: no inference, so it is fast.",
  },
  graph: { type: "string", value: "GRAPH", about: "Graph to run on CLIP; default: detect." },
  telemetry: RUN_OPTIONS.telemetry,
  "telemetry-format": RUN_OPTIONS["telemetry-format"],
  "start-at": {
    type: "string",
    value: "TIME",
    about: "Capture time of the first frame: 2026-11-14T09:00:00Z; default: 1970-01-01T00:00:00Z.",
  },
  out: { type: "string", value: "FILE", about: "Also write the lines of JSON to FILE." },
  patches: {
    type: "string",
    value: "DIR",
    about: "Save the images of notifications as .jpg in DIR; the lines then name the files.",
  },
  svg: {
    type: "string",
    value: "FILE",
    about: "Draw a timeline of the notifications of every alert and subscription.",
  },
  json: { type: "boolean", about: "Print only JSON: lines on standard output, notes and a summary on standard error." },
  quiet: { type: "boolean", short: "q", about: "Print the summary only." },
} as const satisfies Options;

export interface ReplaySettings {
  readonly source:
    | {
        readonly kind: "clip";
        readonly clip: string;
        readonly graph: string;
        readonly params: Readonly<Record<string, string>>;
        readonly startMs: number;
        readonly telemetry: TelemetryOrder | null;
      }
    | { readonly kind: "messages"; readonly file: string };
  readonly alerts: string | null;
  readonly subscriptions: string | null;
  readonly out: string | null;
  readonly patches: string | null;
  readonly svg: string | null;
  readonly json: boolean;
  readonly quiet: boolean;
}

export function readSettings(given: Given): ReplaySettings {
  const [alerts, subscriptions] = [given.text("alerts") ?? null, given.text("subscriptions") ?? null];
  if (alerts === null && subscriptions === null)
    throw new UsageFault("missing: --alerts FILE, --subscriptions FILE, or both");
  return {
    source: readSource(given),
    alerts,
    subscriptions,
    out: given.text("out") ?? null,
    patches: given.text("patches") ?? null,
    svg: given.text("svg") ?? null,
    json: given.flag("json"),
    quiet: given.flag("quiet"),
  };
}

const OF_CLIPS = ["graph", "telemetry", "telemetry-format", "start-at", "patches"] as const;

function readSource(given: Given): ReplaySettings["source"] {
  const graph = given.text("graph") ?? "detect";
  const { source: clip, params } = readGraphWords([graph, ...given.positionals]);
  const file = given.text("from");
  if (file === undefined) {
    if (clip === null) throw new UsageFault("missing: the CLIP, or --from FILE with recorded messages");
    if (/^(rtsps?|rtmps?|srt|udp|test):/i.test(clip))
      throw new UsageFault(`CLIP is "${clip}"; expected a file: only recordings can be replayed`);
    const telemetry = readTelemetryOrder(given);
    return { kind: "clip", clip, graph, params, startMs: readStart(given.text("start-at")), telemetry };
  }
  if (clip !== null) throw new UsageFault(`unexpected argument "${clip}": --from ${file} replaces CLIP`);
  const [name] = Object.keys(params);
  if (name !== undefined) throw new UsageFault(`${name}=… is a parameter of a graph, and --from runs none`);
  const unused = OF_CLIPS.find((option) => given.text(option) !== undefined);
  if (unused !== undefined)
    throw new UsageFault(
      unused === "patches"
        ? "--patches needs CLIP: recorded messages have no images"
        : `--${unused} needs CLIP: the messages of --from were already processed by a graph`,
    );
  return { kind: "messages", file };
}

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})$/i;

function readStart(text: string | undefined): number {
  if (text === undefined) return 0;
  const timeMs = TIME.test(text) ? Date.parse(text.toUpperCase()) : Number.NaN;
  if (timeMs >= 0) return timeMs;
  throw new UsageFault(
    `--start-at is "${text}"; expected a time since 1970 with its zone, as in 2026-11-14T09:00:00Z or 2026-11-14T10:00:00+01:00`,
  );
}

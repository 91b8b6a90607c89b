/** `tests:` of a graph: clips with what is expected of a run on them. Read and checked here; run by `windhover test`, and by the service. */
import type { Metric } from "../../schemas/graph-tests.ts";
import { suggest } from "../../schemas/suggest.ts";
import type { Expectation, GraphDocument, GraphTest, Named } from "./document.ts";
import type { FaultList } from "./fault.ts";
import { MAX_TESTS } from "./limits.ts";
import {
  describeLocated,
  findEntry,
  type LocatedEntry,
  type LocatedMap,
  locate,
  readEntries,
  toJson,
} from "./located.ts";
import { RANGE_FORMS, readRange } from "./ranges.ts";
import { validate } from "./schema-check.ts";

const ALERT_EVENTS = ["triggered", "updated", "cleared"] as const;

const KEYS = ["about", "clip", "params", "telemetry", "telemetry_format", "frames", "alerts", "expect"];
const METRICS = ["frames", "messages", "detections", "tracks", "counts", "alerts", "fps_ratio", "golden"];
const FORMS =
  "frames, messages, detections, detections.CLASS, tracks, tracks.CLASS, counts.NAME, alerts, alerts.ALIAS, alerts.ALIAS.triggered (or updated, cleared), fps_ratio or golden";
const TEST_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
export const PATTERN = /^test:/i;
/** A source of the service, by its alias or UUID. */
const SOURCE = /^source:(.*)$/s;
const LIVE = /^[a-z][a-z0-9+.-]{1,20}:\/\//i;

export function readTests(entry: LocatedEntry | undefined, faults: FaultList): readonly GraphTest[] {
  const written = readEntries(entry, "a map: `tests: { NAME: { clip: FILE, expect: { tracks: 3..5 } } }`", faults);
  const extra = written[MAX_TESTS];
  if (extra !== undefined)
    faults.add("yaml_too_complex", extra.at, `the graph has ${written.length} tests`, {
      expected: `at most ${MAX_TESTS}`,
    });
  return written.slice(0, MAX_TESTS).flatMap((test) => readTest(test, faults) ?? []);
}

function readTest({ key, at, value }: LocatedEntry, faults: FaultList): GraphTest | null {
  if (!TEST_NAME.test(key)) {
    faults.add("document_shape", at, `a test cannot be named "${key.slice(0, 120)}"`, {
      expected: "a letter or digit, then letters, digits, - or _",
    });
    return null;
  }
  const expect = value.kind === "map" ? findEntry(value, "expect") : undefined;
  if (value.kind !== "map" || expect === undefined) {
    faults.add("document_shape", at, `test "${key}" expects nothing`, {
      expected: "`clip: FILE` and `expect: { tracks: 3..5 }`",
    });
    return null;
  }
  for (const other of value.entries)
    if (!KEYS.includes(other.key))
      faults.add("document_shape", other.at, `a test has no key "${other.key}"`, {
        expected: KEYS.join(", "),
        suggestion: suggest(other.key, KEYS),
      });
  const text = (name: string) => readText(findEntry(value, name), faults);
  const frames = readFrames(findEntry(value, "frames"), faults);
  const telemetry = text("telemetry");
  const telemetryFormat = text("telemetry_format");
  if (telemetry === null && telemetryFormat !== null)
    faults.add("document_shape", telemetryFormat.at, "`telemetry_format` without `telemetry`", {
      expected: "`telemetry: FILE` beside it",
    });
  text("about");
  const { expectations, golden } = readExpectations(expect, faults);
  const clip = readClip(text("clip"), frames, faults);
  if (golden !== null && (clip === null || PATTERN.test(clip.value) || SOURCE.test(clip.value)))
    faults.add("document_shape", golden.at, `a golden file of ${clip === null ? "no clip" : `"${clip.value}"`}`, {
      expected: "a clip that is a file",
    });
  return {
    ...{ name: key, at, clip, telemetry, telemetryFormat, frames, golden, expect: expectations },
    params: readEntries(findEntry(value, "params"), "values of the graph's parameters: `{ NAME: value }`", faults),
    alerts: readAlerts(findEntry(value, "alerts"), faults),
  };
}

function readText(entry: LocatedEntry | undefined, faults: FaultList): Named | null {
  if (entry === undefined) return null;
  const { value } = entry;
  if (value.kind === "scalar" && typeof value.value === "string" && value.value !== "")
    return { value: value.value, at: value.at };
  faults.add("document_shape", value.at, `"${entry.key}" is ${describeLocated(value)}`, { expected: "text" });
  return null;
}

function readFrames(entry: LocatedEntry | undefined, faults: FaultList): number | null {
  if (entry === undefined) return null;
  const frames = toJson(entry.value);
  if (typeof frames === "number" && Number.isInteger(frames) && frames >= 1 && frames <= 1e9) return frames;
  faults.add("document_shape", entry.value.at, `"frames" is ${describeLocated(entry.value)}`, {
    expected: "a whole number of frames, at least 1",
  });
  return null;
}

/** The alias or UUID of a source of the service; null for a clip that is none. */
export const sourceOf = ({ value }: Named): string | null => SOURCE.exec(value)?.[1]?.trim() ?? null;

/** A test must end. */
function readClip(clip: Named | null, frames: number | null, faults: FaultList): Named | null {
  if (clip === null) return null;
  const { value, at } = clip;
  if (sourceOf(clip) === "")
    faults.add("document_shape", at, `"${value}" names no source`, { expected: "source:ALIAS or source:UUID" });
  else if (LIVE.test(value))
    faults.add("document_shape", at, `the clip is "${value}"`, {
      expected: "a file, or test:PATTERN?frames=N: a test gets the same frames each time, and ends",
    });
  else if (PATTERN.test(value) && frames === null && !/[?&](frames|seconds)=/.test(value))
    faults.add("document_shape", at, `"${value}" never ends`, { expected: "`frames: N`, or test:PATTERN?frames=N" });
  return clip;
}

function readAlerts(entry: LocatedEntry | undefined, faults: FaultList): readonly LocatedMap[] {
  if (entry === undefined) return [];
  const items = entry.value.kind === "list" ? entry.value.items : [entry.value];
  return items.flatMap((item) => {
    if (item.kind === "map") return [item];
    faults.add("document_shape", item.at, `"alerts" has ${describeLocated(item)}`, {
      expected: "a list of bodies of `POST /alert`",
    });
    return [];
  });
}

function readExpectations(
  entry: LocatedEntry,
  faults: FaultList,
): { readonly expectations: readonly Expectation[]; readonly golden: Named | null } {
  const entries = readEntries(entry, "`expect: { tracks.person: 3..5 }`", faults);
  if (entries.length === 0 && entry.value.kind === "map")
    faults.add("document_shape", entry.at, "`expect` is empty", { expected: FORMS });
  const golden = readText(
    entries.find(({ key }) => key === "golden"),
    faults,
  );
  const numbers = entries.filter(({ key }) => key !== "golden");
  return { golden, expectations: numbers.flatMap((item) => readExpectation(item, faults) ?? []) };
}

function readExpectation({ key, at, value }: LocatedEntry, faults: FaultList): Expectation | null {
  const metric = readMetric(key);
  if (metric === null) {
    const [first = ""] = key.split(".");
    faults.add("document_shape", at, `a test cannot expect "${key}"`, {
      expected: FORMS,
      suggestion: suggest(first, METRICS),
    });
    return null;
  }
  const range = readRange(toJson(value));
  if (range !== null) return { key, at: value.at, metric, range };
  faults.add("document_shape", value.at, `"${key}" is ${describeLocated(value)}`, { expected: RANGE_FORMS });
  return null;
}

function readMetric(key: string): Metric | null {
  const [kind = "", rest] = key.split(/\.(.*)/s);
  const name = rest ?? null;
  if (name === "") return null;
  if (kind === "frames" || kind === "messages" || kind === "fps_ratio") return name === null ? { kind } : null;
  if (kind === "detections" || kind === "tracks") return { kind, className: name };
  if (kind === "counts") return name === null ? null : { kind, name };
  if (kind !== "alerts") return null;
  const event = ALERT_EVENTS.find((each) => name?.endsWith(`.${each}`)) ?? null;
  const alias = event === null ? name : (name?.slice(0, -event.length - 1) ?? null);
  return { kind, alias, event };
}

/** Parameters that tests give: declared by the graph, and of their type. */
export function checkTests({ graph, params, tests }: GraphDocument, faults: FaultList): void {
  const names = params.map(({ name }) => name);
  for (const { key, at, value } of tests.flatMap((test) => test.params)) {
    const param = params.find(({ name }) => name === key);
    if (param === undefined) {
      faults.add("unknown_param", at, `graph "${graph}" has no parameter "${key}"`, {
        expected: names.join(", ") || "no parameters",
        suggestion: suggest(key, names),
      });
      continue;
    }
    for (const { path, found, expected } of validate(param.schema, toJson(value)))
      faults.add("bad_param", locate(value, path), `parameter "${[key, ...path].join(".")}" is ${found}`, { expected });
  }
}

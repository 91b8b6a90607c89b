/** Checks everything that can be checked before the start, then runs the graph. */

import type { Compiled } from "../../graphs/compiler/compile.ts";
import type { GraphPlan, PlanSegment } from "../../graphs/compiler/plan.ts";
import { coerceParams } from "../../graphs/compiler/schema-check.ts";
import type { SlotRequest } from "../../graphs/runtime/slots.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { EXIT, UsageFault } from "../command.ts";
import { compileOrShow, type LoadedKnowledge } from "../compile-graph.ts";
import { showFaults } from "../faults.ts";
import { expectRoom, expectSourceFiles } from "../files.ts";
import { writeSvg } from "../svg.ts";
import type { Terminal } from "../terminal.ts";
import { ForegroundRun } from "./foreground.ts";
import { expectReport } from "./output-files.ts";
import { expectNode } from "./probes.ts";
import type { GraphOrigin } from "./reload.ts";
import type { RunSettings } from "./settings.ts";
import { expectTelemetry, readFlight } from "./telemetry-file.ts";

export async function runGraph(
  origin: GraphOrigin,
  settings: RunSettings,
  knowledge: LoadedKnowledge,
  terminal: Terminal,
): Promise<number> {
  const compiled = compileOrShow(origin.compile, origin.textOf, terminal);
  if (compiled === null || compiled.plan === null) return EXIT.refused;
  const attach = readAttachments(listWanted(settings, compiled.plan), compiled.plan, compiled, origin, terminal);
  if (attach === null) return EXIT.refused;
  const segments = [compiled.plan.main, ...compiled.plan.branches, ...attach.map(({ segment }) => segment)];
  for (const name of settings.probes) expectNode("probe", name, segments);
  for (const { node } of settings.snapshots) expectNode("snapshot", node, segments);
  for (const { file } of settings.snapshots) expectRoom("snapshot", file);
  if (settings.svg !== null) expectRoom("svg", settings.svg);
  if (settings.dot !== null) expectRoom("dot", settings.dot);
  if (settings.trace !== null) expectRoom("trace", settings.trace);
  if (settings.tracks !== null) expectReport(compiled.plan);
  if (settings.tracks !== null) expectRoom("tracks", settings.tracks.file);
  if (settings.telemetry !== null) expectTelemetry(compiled.plan);
  expectSourceFiles(compiled.plan);
  const flight = settings.telemetry === null ? null : readFlight(settings.telemetry);
  if (settings.svg !== null) await writeSvg(compiled.plan, settings.svg);
  return new ForegroundRun(origin, settings, knowledge, terminal).run(compiled, compiled.plan, attach, flight);
}

type Wanted = RunSettings["attach"];

/** `--video FILE` is short for `--attach video:path=FILE`. */
function listWanted({ attach, video }: RunSettings, plan: GraphPlan): Wanted {
  if (video === null) return attach;
  expectVideoSlot(plan);
  expectRoom("video", video);
  return [...attach, { slot: VIDEO_SLOT, params: { path: video } }];
}

type Attachment = SlotRequest & { readonly segment: PlanSegment };

/** Null when one of them cannot be attached; its faults were shown. */
function readAttachments(
  wanted: Wanted,
  plan: GraphPlan,
  compiled: Compiled,
  origin: GraphOrigin,
  terminal: Terminal,
): readonly Attachment[] | null {
  const read = wanted.map(({ slot, params: given }, index) => {
    const params = coerceParams(plan.slots[slot] ?? {}, given);
    return { slot, params, ...compiled.slot(slot, String(index + 1), params) };
  });
  for (const { faults } of read) showFaults(faults, origin.textOf, terminal);
  const attachments = read.flatMap(({ slot, params, segment }) =>
    segment === null ? [] : [{ slot, params, segment }],
  );
  return attachments.length === read.length ? attachments : null;
}

export const VIDEO_SLOT = "video";

/** Throws `UsageFault` for a graph without a slot `video` that has a `path`. */
export function expectVideoSlot({ graph, file, slots }: Pick<GraphPlan, "graph" | "file" | "slots">): void {
  const slot = slots[VIDEO_SLOT];
  if (slot === undefined) throw new UsageFault(file === null ? LINE : describeLack(graph, Object.keys(slots)));
  if (Object.hasOwn((slot.properties ?? {}) as JsonRecord, "path")) return;
  throw new UsageFault(
    `--video sets the parameter "path" of the slot "${VIDEO_SLOT}", and that slot of the graph "${graph}" has no such parameter; attach it with --attach ${VIDEO_SLOT}:name=value`,
  );
}

const LINE =
  "--video attaches a slot, and a launch line has none; write the video in the line itself: … ! overlay ! encode ! record path=out.mp4";

function describeLack(graph: string, slots: readonly string[]): string {
  const others = slots.length === 0 ? "no slots" : `only ${slots.map((name) => `"${name}"`).join(", ")}`;
  return [
    `--video attaches the slot "${VIDEO_SLOT}", and the graph "${graph}" has ${others}`,
    "  `npx windhover explain detect` shows a graph that has one; `--attach SLOT:name=value` attaches any other",
  ].join("\n");
}

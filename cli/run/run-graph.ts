/** Makes sure of everything that can be known beforehand, then runs the graph. */

import type { Compiled } from "../../graphs/compiler/compile.ts";
import { GraphFaults } from "../../graphs/compiler/fault.ts";
import type { GraphPlan, PlanSegment } from "../../graphs/compiler/plan.ts";
import { coerceParams } from "../../graphs/compiler/schema-check.ts";
import type { SlotRequest } from "../../graphs/runtime/slots.ts";
import { EXIT } from "../command.ts";
import { writeSvg } from "../draw-svg.ts";
import { expectRoom } from "../expect-room.ts";
import type { Knowledge } from "../knowledge.ts";
import { showFaults } from "../show-faults.ts";
import type { Terminal } from "../terminal.ts";
import { ForegroundRun } from "./foreground.ts";
import type { GraphOrigin } from "./graph-origin.ts";
import { expectNode } from "./places.ts";
import type { RunSettings } from "./settings.ts";
import { expectSourceFiles } from "./source-file.ts";
import { expectTelemetry, readFlight } from "./telemetry-file.ts";
import { expectReport } from "./tracks-file.ts";
import { expectVideoSlot, VIDEO_SLOT } from "./video-slot.ts";

export async function runGraph(
  origin: GraphOrigin,
  settings: RunSettings,
  knowledge: Knowledge,
  terminal: Terminal,
): Promise<number> {
  const compiled = compileOrShow(origin, terminal);
  if (compiled === null || compiled.plan === null) return EXIT.refused;
  const attach = readAttachments(listWanted(settings, compiled.plan), compiled.plan, compiled, origin, terminal);
  if (attach === null) return EXIT.refused;
  const segments = [compiled.plan.main, ...compiled.plan.branches, ...attach.map(({ segment }) => segment)];
  for (const name of settings.probes) expectNode("probe", name, segments);
  for (const { node } of settings.snapshots) expectNode("snapshot", node, segments);
  for (const { file } of settings.snapshots) expectRoom("snapshot", file);
  if (settings.svg !== null) expectRoom("svg", settings.svg);
  if (settings.dot !== null) expectRoom("dot", settings.dot);
  if (settings.tracks !== null) expectReport(compiled.plan);
  if (settings.tracks !== null) expectRoom("tracks", settings.tracks.file);
  if (settings.telemetry !== null) expectTelemetry(compiled.plan);
  expectSourceFiles(compiled.plan);
  const flight = settings.telemetry === null ? null : readFlight(settings.telemetry);
  if (settings.svg !== null) await writeSvg(compiled.plan, settings.svg);
  return new ForegroundRun(origin, settings, knowledge, terminal).run(compiled, compiled.plan, attach, flight);
}

function compileOrShow(origin: GraphOrigin, terminal: Terminal): Compiled | null {
  try {
    const compiled = origin.compile();
    showFaults(compiled.faults, origin.textOf, terminal);
    return compiled;
  } catch (error) {
    if (!(error instanceof GraphFaults)) throw error;
    showFaults(error.faults, origin.textOf, terminal);
    return null;
  }
}

type Wanted = RunSettings["attach"];

/** `--video FILE` is the attachment that most people want, in fewer words. */
function listWanted({ attach, video }: RunSettings, plan: GraphPlan): Wanted {
  if (video === null) return attach;
  expectVideoSlot(plan);
  expectRoom("video", video);
  return [...attach, { slot: VIDEO_SLOT, params: { path: video } }];
}

type Attachment = SlotRequest & { readonly segment: PlanSegment };

/** Null when one of them cannot be attached; its faults have been shown. */
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

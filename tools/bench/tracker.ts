/**
 * The tracker on sequences it was not tuned on, compared with the published ones: for each sequence, its two parameters
 * are chosen on the other sequences, and the sequence is scored with them. All trackers are timed in turns.
 */
import { UsageFault } from "../../cli/command.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { alignTable } from "../../cli/text.ts";
import type { MotTracker } from "../../elements/track/mot-tracker.ts";
import { DEFAULT_TUNING, type TrackerTuning } from "../../elements/track/settings.ts";
import { type MotScores, scoreMot } from "../eval/metrics/score-mot.ts";
import { createTracker, PRESETS } from "../trackers/presets.ts";
import { median } from "./harness.ts";
import { leaveOneOut } from "./tracker/leave-one-out.ts";
import { mean, readScenes, type Scene, scorePlays, track } from "./tracker/scenes.ts";

const FOLDERS = "WINDHOVER_MOT";
const TIMED_ROUNDS = 3;
/** Lowest lead in HOTA, in percent, over the peer with the best mean, and over the best peer of each sequence. */
const LEAST_LEAD = 3;
const LEAST_LEAD_EACH = -1;

const LIMITS = [8, 9, 10];
const STAYS_S = [6, 12, 24];
const CANDIDATES: readonly TrackerTuning[] = LIMITS.flatMap((limit) =>
  STAYS_S.map((usualStayS) => ({ limit, usualStayS })),
);

export default async function tracker(args: readonly string[], terminal: Terminal): Promise<number> {
  const scenes = readScenes(readFolders(args));
  if (scenes.length < 2) throw new UsageFault("leave-one-out needs at least two sequences");
  const chosen = choose(scenes, terminal);
  const isDefault = ({ limit, usualStayS }: TrackerTuning): boolean =>
    limit === DEFAULT_TUNING.limit && usualStayS === DEFAULT_TUNING.usualStayS;
  terminal.say(`the choice is the default for ${chosen.filter(isDefault).length} of ${scenes.length} sequences`);
  const columns: readonly Column[] = [
    score("left out", scenes, (index) => createTracker("default", chosen[index])),
    ...PRESETS.map((preset) => score(preset, scenes, () => createTracker(preset))),
  ];
  const [leftOut, , ...peers] = columns as readonly [Column, Column, ...Column[]];
  const leads = scenes.map((_, index) => leadOver(leftOut, peers, index));
  const bestPeer = Math.max(...peers.map(({ scores }) => mean(scores.map(({ hota }) => hota))));
  const lead = (mean(leftOut.scores.map(({ hota }) => hota)) - bestPeer) * 100;
  const heads = ["HOTA/IDF1/MOTA", ...columns.map(({ name }) => name), "lead"];
  const rows = [
    ...scenes.map(({ name }, index) => [
      name,
      ...columns.map(({ scores }) => format(scores.slice(index, index + 1))),
      sign(leads[index] ?? 0),
    ]),
    ["mean", ...columns.map(({ scores }) => format(scores)), sign(lead)],
    ["µs/frame", ...time(scenes, columns).map((each) => each.toFixed(1)), ""],
  ];
  await terminal.print(alignTable(heads, rows, terminal.paintOut, (column) => column < 1));
  const isWithin = lead >= LEAST_LEAD && leads.every((each) => each >= LEAST_LEAD_EACH);
  terminal.say(`${isWithin ? "ok" : "below"} (lead ≥ ${LEAST_LEAD}, on each sequence ≥ ${LEAST_LEAD_EACH})`);
  return isWithin ? 0 : 1;
}

export function readFolders(args: readonly string[], listed = process.env[FOLDERS] ?? ""): readonly string[] {
  const folders = args.length > 0 ? args : listed.split(":").filter((one) => one !== "");
  if (folders.length > 0) return folders;
  throw new UsageFault(
    `missing: the folders of MOT sequences; expected DIR…, or folders separated by ":" in ${FOLDERS}`,
  );
}

/** The tuning for each sequence, chosen on the others. */
function choose(scenes: readonly Scene[], terminal: Terminal): readonly TrackerTuning[] {
  const scores = CANDIDATES.map((tuning, index) => {
    terminal.say(`parameters ${index + 1} of ${CANDIDATES.length}`);
    return scenes.map((scene) => scorePlays(scene, () => createTracker("default", tuning)));
  });
  return leaveOneOut(scores).map((index) => CANDIDATES[index] as TrackerTuning);
}

interface Column {
  readonly name: string;
  readonly scores: readonly MotScores[];
  readonly create: (index: number) => MotTracker;
}

function score(name: string, scenes: readonly Scene[], create: Column["create"]): Column {
  const inputs = scenes.map((scene, index) => ({
    name: scene.name,
    truth: scene.truth,
    results: track(scene, create(index)),
  }));
  return { name, scores: scoreMot(inputs).sequences, create };
}

function leadOver({ scores }: Column, peers: readonly Column[], index: number): number {
  const best = Math.max(...peers.map((peer) => peer.scores[index]?.hota ?? 0));
  return ((scores[index]?.hota ?? 0) - best) * 100;
}

/** The median of several rounds. Trackers take turns, so that the load of the machine is the same for all. */
function time(scenes: readonly Scene[], columns: readonly Column[]): readonly number[] {
  const frames = scenes.reduce((sum, { inputs }) => sum + inputs.length, 0);
  const rounds = Array.from({ length: TIMED_ROUNDS }, () =>
    columns.map(({ create }) => {
      const trackers = scenes.map((_, index) => create(index));
      const startedUs = process.cpuUsage();
      for (const [index, scene] of scenes.entries()) track(scene, trackers[index] as MotTracker);
      return process.cpuUsage(startedUs).user / frames;
    }),
  );
  return columns.map((_, column) => median(rounds.map((round) => round[column] as number)));
}

function format(scores: readonly MotScores[]): string {
  const percent = (read: (one: MotScores) => number): string => (mean(scores.map(read)) * 100).toFixed(1);
  return [percent(({ hota }) => hota), percent(({ idf1 }) => idf1), percent(({ mota }) => mota)].join("/");
}

const sign = (lead: number): string => `${lead < 0 ? "" : "+"}${lead.toFixed(1)}`;

/** The command `replay`, from its settings to the summary. */
import { basename } from "node:path";
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import { ALERT_CHANNEL, type AlertEvent } from "../../schemas/alerts.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { ruleOf } from "../../server/alerts/written-alerts.ts";
import { EXIT, UsageFault } from "../command.ts";
import { compileGraph, compileOrShow, loadKnowledge } from "../compile-graph.ts";
import { expectFile, expectRoom, writeText } from "../files.ts";
import { GraphFiles, locateGraph } from "../graph-files.ts";
import { onInterrupt } from "../run/interrupt.ts";
import { Reporter } from "../run/reporter.ts";
import { expectTelemetry, readFlight } from "../run/telemetry-file.ts";
import type { Terminal } from "../terminal.ts";
import { drawTimeline } from "./draw-timeline.ts";
import { Outlet, PatchFolder } from "./outlet.ts";
import { expectAlerts, findDetector, listMissed, playClip, withRules } from "./play-clip.ts";
import { playMessages } from "./play-messages.ts";
import { type Replayed, readReplayed } from "./read-alerts.ts";
import { listSenders, Replay } from "./replay.ts";
import type { ReplaySettings } from "./settings.ts";
import { formatSummary, type Span, summarise } from "./summary.ts";

type ClipSource = ReplaySettings["source"] & { readonly kind: "clip" };

interface Played {
  readonly clipSeconds: number;
  /** Why it ended early, or null. */
  readonly failure: string | null;
  readonly errors: number;
}

export async function runReplay(settings: ReplaySettings, terminal: Terminal): Promise<number> {
  const { source, out, svg } = settings;
  if (out !== null) expectRoom("out", out);
  if (svg !== null) expectRoom("svg", svg);
  if (source.kind === "clip") expectFile(source.clip);
  const reporter = new Reporter(terminal, settings);
  const replayed = await readReplayed(settings, reporter, terminal);
  if (replayed === null) return EXIT.refused;
  const play = source.kind === "clip" ? await prepareClip(source, replayed, settings, reporter, terminal) : null;
  if (source.kind === "clip" && play === null) return EXIT.refused;
  const senders = listSenders(replayed);
  const outlet = new Outlet({ senders, file: out, isJson: settings.json, isQuiet: settings.quiet }, terminal);
  const patches = settings.patches === null ? null : new PatchFolder(settings.patches);
  const order = { ...replayed, patches, keepsMarks: svg !== null };
  const replay = new Replay(order, outlet, source.kind === "clip" ? source.startMs : null);
  const stop = new AbortController();
  const removeSignals = onInterrupt(
    () => stop.abort(),
    () => process.exit(EXIT.failed),
  );
  terminal.onClosed(() => stop.abort());
  const beganMs = performance.now();
  try {
    const played =
      play === null
        ? await playRecording(settings, replayed, replay, reporter, terminal, stop.signal)
        : await play(replay, stop.signal);
    await replay.end();
    const seconds = (performance.now() - beganMs) / 1000;
    const span = {
      startMs: replay.startMs,
      clipSeconds: played.clipSeconds,
      seconds,
      isInterrupted: stop.signal.aborted,
    };
    if (svg !== null) {
      const title = basename(source.kind === "clip" ? source.clip : source.file);
      await writeText(svg, drawTimeline(senders, replay.marks, { ...span, title }));
    }
    if (played.failure !== null)
      reporter.error(`windhover: ${played.failure}`, { type: "error", message: played.failure });
    await printSummary(replay, senders, span, outlet, terminal);
    return played.failure === null && played.errors === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    removeSignals();
    outlet.close();
  }
}

async function printSummary(
  { tally }: Replay,
  senders: Parameters<typeof formatSummary>[0],
  span: Span,
  outlet: Outlet,
  terminal: Terminal,
): Promise<void> {
  if (terminal.isClosed) return;
  if (terminal.isJson) terminal.say(JSON.stringify(summarise(senders, tally, span)));
  else if (outlet.isReadable) await terminal.print(`\n${formatSummary(senders, tally, span, terminal.paintOut)}`);
  else terminal.say(formatSummary(senders, tally, span, terminal.paintErr));
}

async function playRecording(
  { source, quiet }: ReplaySettings,
  { alerts }: Replayed,
  replay: Replay,
  reporter: Reporter,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Played> {
  const file = source.kind === "messages" ? source.file : "";
  await playMessages(file, alerts.map(ruleOf), replay, { reporter, terminal, isQuiet: quiet, signal });
  return { clipSeconds: replay.seconds, failure: null, errors: 0 };
}

type Play = (replay: Replay, signal: AbortSignal) => Promise<Played>;

/** Checks everything before the first frame. Null when the graph has faults, which were shown. */
async function prepareClip(
  source: ClipSource,
  { alerts, subscribers }: Replayed,
  { quiet }: ReplaySettings,
  reporter: Reporter,
  terminal: Terminal,
): Promise<Play | null> {
  const files = new GraphFiles(locateGraph(source.graph));
  const knowledge = await loadKnowledge(terminal);
  const compiled = compileOrShow(
    () => compileGraph(files, source, { ...knowledge, source: { uri: source.clip, pace: "fast" } }),
    files.textOf,
    terminal,
  );
  const plan = compiled?.plan ?? null;
  if (compiled === null || plan === null) return null;
  if (alerts.length > 0) expectAlerts(plan);
  if (subscribers.length > 0) expectDetections(plan);
  if (source.telemetry !== null) expectTelemetry(plan);
  warnOfClasses(plan, alerts, reporter);
  const flight = source.telemetry === null ? null : readFlight(source.telemetry);
  for (const lack of [flight?.cut, flight?.lack])
    if (lack) reporter.warn(`telemetry: ${lack}`, { type: "telemetry", lack });
  const ruled = withRules(compiled, plan, alerts.map(ruleOf));
  const sendsMessages = plan.offers.includes(DETECTIONS);
  return async (replay, signal) => {
    const onMessage = async (channel: string, message: JsonRecord): Promise<void> => {
      if (channel === ALERT_CHANNEL) replay.find(message as unknown as AlertEvent);
      if (channel === DETECTION_CHANNEL) await replay.see(message as unknown as DetectionMessage);
      else if (!sendsMessages) await replay.flush();
    };
    const { startMs } = source;
    const order = { compiled: ruled, plan, startMs, flight, isQuiet: quiet, onMessage, signal };
    return playClip(order, knowledge, reporter, terminal);
  };
}

const DETECTIONS = "detections";
const DETECTION_CHANNEL = "detection_data";

function expectDetections({ graph, offers }: GraphPlan): void {
  if (offers.includes(DETECTIONS)) return;
  throw new UsageFault(`--subscriptions needs the element \`${DETECTIONS}\`, and the graph "${graph}" has none`);
}

/** The service accepts classes of any installed model; this graph uses one model. */
function warnOfClasses(plan: GraphPlan, alerts: Replayed["alerts"], reporter: Reporter): void {
  const detector = findDetector(plan);
  if (detector === null) return;
  for (const { alias, configuration } of alerts) {
    const missed = listMissed(configuration.filter as JsonRecord, detector);
    if (missed.length === 0) continue;
    const names = missed.map((name) => `"${name}"`).join(", ");
    reporter.warn(
      `"${alias}" never triggers for ${names}: the graph, with the model ${detector.model}, does not detect this class`,
      {
        type: "classes",
        alert: alias,
        missed,
      },
    );
  }
}

/** Recorded messages through the very element that evaluates alerts, without a graph around it. */
import { AlertsHandler } from "../../elements/alerts/handler.ts";
import type { AlertFinding, AlertRule } from "../../schemas/alerts.ts";
import { Progress } from "../progress.ts";
import type { Reporter } from "../run/reporter.ts";
import type { Terminal } from "../terminal.ts";
import { readMessages } from "./read-messages.ts";
import type { Replay } from "./replay.ts";
import { Scenes } from "./scenes.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** Rejects with `CommandFailure` for a file that is no recording; what came before the fault has been shown. */
export async function playMessages(
  file: string,
  rules: readonly AlertRule[],
  replay: Replay,
  { reporter, terminal, isQuiet, signal }: MessagesView,
): Promise<void> {
  const scenes = new Scenes();
  const restore = (finding: AlertFinding): AlertFinding => ({
    ...finding,
    tracks: finding.tracks.map((entry) => scenes.restore(entry)),
  });
  const handler = new AlertsHandler({ rules }, async (finding) => replay.find(restore(finding)), SILENT);
  const progress = isQuiet || !terminal.isLive ? null : new Progress(terminal, "messages");
  const onCut = (text: string): void => reporter.warn(text, { type: "cut", text });
  let count = 0;
  try {
    for await (const { message, part } of readMessages(file, onCut)) {
      if (signal.aborted) return;
      await handler.process(scenes.next(message));
      await replay.see(message);
      count += 1;
      progress?.show(count, null, `${Math.floor(part * 100)}%`);
    }
  } finally {
    progress?.end();
  }
}

export interface MessagesView {
  readonly reporter: Reporter;
  readonly terminal: Terminal;
  readonly isQuiet: boolean;
  readonly signal: AbortSignal;
}

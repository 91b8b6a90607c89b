/** Shows the faults of a graph, on a terminal with the line and a mark below the column, and why a run failed. */
import { type Fault, formatFault } from "../graphs/compiler/fault.ts";
import type { GraphPlan } from "../graphs/compiler/plan.ts";
import type { GraphFailure } from "../graphs/runtime/events.ts";
import { explainFailure } from "../graphs/runtime/explain-failure.ts";
import type { Terminal } from "./terminal.ts";
import { wrap } from "./text.ts";

const SHOWN_ON_SCREEN = 20;

export type TextOf = (file: string | null) => string | undefined;

export function showFaults(faults: readonly Fault[], textOf: TextOf, terminal: Terminal): void {
  // A screen shows the first; a pipe gets all.
  const shown = terminal.isLive && !terminal.isJson ? faults.slice(0, SHOWN_ON_SCREEN) : faults;
  for (const fault of shown) {
    if (terminal.isJson) {
      terminal.say(JSON.stringify({ type: "fault", ...fault }));
      continue;
    }
    const text = formatColoured(fault, terminal);
    terminal.say(terminal.isLive ? wrap(text, terminal.columns, "  ") : text);
    if (terminal.isLive) {
      const excerpt = excerptOf(fault, textOf(fault.at.file), terminal);
      if (excerpt !== null) terminal.say(excerpt);
    }
  }
  const more = faults.length - shown.length;
  if (more > 0) terminal.say(`and ${more} more; use \`--json\` or a pipe to get them all`);
}

function formatColoured(fault: Fault, { paintErr: paint }: Terminal): string {
  const text = formatFault(fault);
  const place = `${fault.at.file ?? "launch"}:${fault.at.line}:${fault.at.column}:`;
  return text.startsWith(place) ? paint("bold", place) + text.slice(place.length) : text;
}

const LEAST_BEFORE = 20;

/** Of a long line, the part around the column. */
function excerptOf({ at }: Fault, text: string | undefined, { paintErr: paint, columns }: Terminal): string | null {
  const line = text?.split(/\r?\n/, at.line)[at.line - 1]?.replaceAll("\t", " ");
  if (line === undefined || line.trim() === "" || at.column > line.length + 1) return null;
  const gutter = `${String(at.line).padStart(5)} │ `;
  const room = columns - gutter.length - 1;
  const start = at.column <= room ? 0 : Math.max(0, at.column - LEAST_BEFORE);
  const shown = line.slice(start, start + room);
  return [
    paint("dim", gutter) + shown,
    paint("dim", `${" ".repeat(5)} │ `) + " ".repeat(at.column - 1 - start) + paint("red", "^"),
  ].join("\n");
}

/** Why a graph failed, with the stack of an element that threw. */
export async function describeFailure(failure: GraphFailure, plan: GraphPlan): Promise<string> {
  const message = await explainFailure(failure, plan);
  return failure.isRefusal ? message : withTrace(message, failure.trace);
}

export const withTrace = (message: string, trace: readonly string[]): string =>
  [message, ...trace.map((frame) => `    ${frame}`)].join("\n");

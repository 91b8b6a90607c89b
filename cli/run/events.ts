/** What a running graph tells, for whoever watches. */
import type { ElementEvent } from "../../elements/element.ts";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import type { Reporter } from "./reporter.ts";

export function reportEvent(event: GraphEvent, reporter: Reporter): void {
  if (event.type === "element") reportElement(event.node, event.event, reporter);
  else if (event.type === "log" && event.level !== "debug") {
    const { level, node, message, fields } = event;
    const text = `${node}: ${message}${formatFields(fields)}`;
    const record = { type: "log", level, node, message, ...(fields && { fields }) };
    if (level === "error") reporter.error(text, record);
    else if (level === "warn") reporter.warn(text, record);
    else reporter.note(text, record);
  }
}

function formatFields(fields: object | undefined): string {
  const shown = Object.entries(fields ?? {}).filter(([name, value]) => name !== "debug" && value !== "");
  return shown.length === 0 ? "" : ` (${shown.map(([name, value]) => `${name} ${String(value)}`).join(", ")})`;
}

function reportElement(node: string, event: ElementEvent, reporter: Reporter): void {
  const record = { type: "element", node, event };
  if (event.type !== "source") {
    reporter.note(`${node}: ${JSON.stringify(event)}`, record);
    return;
  }
  switch (event.state) {
    case "lost":
      reporter.warn(`${node}: lost: ${event.reason}`, record);
      break;
    case "waiting":
      reporter.note(`${node}: ${describeWait(event)}`, record);
      break;
    case "live":
      if (Number(event.attempt) > 1) reporter.note(`${node}: live again`, record);
      break;
  }
}

/** Why the first attempt follows has been said by the loss; why further ones do has not. */
function describeWait({ reason, attempt, retry_in_ms }: ElementEvent): string {
  const again = `trying again in ${(Number(retry_in_ms) / 1000).toFixed(1)} s`;
  return Number(attempt) > 1 ? `still away: ${reason}; ${again}` : again;
}

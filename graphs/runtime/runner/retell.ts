/** What the server hears of what a graph tells. Pure. */
import type { ElementEvent } from "../../../elements/element.ts";
import type { RunnerMessage } from "../../../schemas/runner.ts";
import type { GraphEvent } from "../events.ts";

export function retell(event: GraphEvent): readonly RunnerMessage[] {
  if (event.type === "log") {
    const { level, node, message, fields } = event;
    const details = fields === undefined ? "" : ` ${JSON.stringify(fields)}`;
    return [{ type: "log", level, node, message: message + details }];
  }
  return event.type === "element" ? retellElement(event.node, event.event) : [];
}

function retellElement(node: string, event: ElementEvent): readonly RunnerMessage[] {
  // Numbers go out with the progress.
  if (event.type === "stats") return [];
  const told: RunnerMessage = { type: "element", node, event };
  if (event.type !== "source") return [told];
  if (event.state === "live") return [{ type: "reconnecting", reconnecting: false, detail: "" }, told];
  if (event.state !== "lost" && event.state !== "waiting") return [told];
  return [{ type: "reconnecting", reconnecting: true, detail: String(event.reason ?? "") }, told];
}

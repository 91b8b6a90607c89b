/** What was done to a running graph, in a line each. */
import type { PlanChange } from "../../graphs/compiler/plan.ts";
import type { Json } from "../../schemas/json.ts";

/** `live detect.confidence 0.4 → 0.5` */
export function formatChange(change: PlanChange): string {
  switch (change.label) {
    case "live":
      return `live ${change.author}.${change.property} ${show(change.from)} → ${show(change.to)}`;
    case "branch":
      return `${change.action} ${change.segment}`;
    case "relaunch":
      return `relaunch: ${change.reason}`;
  }
}

const show = (value: Json | undefined): string =>
  value === undefined ? "(default)" : typeof value === "string" && value !== "" ? value : JSON.stringify(value);

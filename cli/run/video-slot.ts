/** `--video FILE` works on graphs that say how their video is to be written: by a slot of this name with a `path`. */
import type { GraphPlan } from "../../graphs/compiler/plan.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { UsageFault } from "../command.ts";

export const VIDEO_SLOT = "video";

/** Throws `UsageFault` for a graph that `--video` means nothing to, and says what to write instead. */
export function expectVideoSlot({ graph, file, slots }: Pick<GraphPlan, "graph" | "file" | "slots">): void {
  const slot = slots[VIDEO_SLOT];
  if (slot === undefined) throw new UsageFault(file === null ? LINE : describeLack(graph, Object.keys(slots)));
  if (Object.hasOwn((slot.properties ?? {}) as JsonRecord, "path")) return;
  throw new UsageFault(
    `--video gives the slot "${VIDEO_SLOT}" of the graph "${graph}" its parameter "path", and it has none; attach it with --attach ${VIDEO_SLOT}:name=value`,
  );
}

const LINE =
  "--video attaches a slot, and a line has none; write the video by the line itself: … ! overlay ! encode ! record path=out.mp4";

function describeLack(graph: string, slots: readonly string[]): string {
  const others = slots.length === 0 ? "no slots at all" : `only ${slots.map((name) => `"${name}"`).join(", ")}`;
  return [
    `--video attaches the slot "${VIDEO_SLOT}", and the graph "${graph}" has ${others}`,
    "  `npx windhover explain detect` shows a graph that has one; `--attach SLOT:name=value` attaches any other",
  ].join("\n");
}

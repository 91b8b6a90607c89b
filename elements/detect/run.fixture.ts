/** The element in a real graph, with a model and a worker of the test. */
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import type { Model } from "../../models/open.ts";
import { Detections } from "../../schemas/detections.ts";
import { collector, compiledLaunch, start } from "../../test/graph.fixture.ts";
import { type AnyElement, defineElement, type Frame } from "../element.ts";
import detect from "./detect.ts";
import { DetectHandler } from "./handler.ts";

export function detectWith(model: Model, worker?: URL): AnyElement {
  if (detect.kind !== "transform") throw new Error("detect passes frames on");
  return defineElement({
    ...detect,
    create: (given, services) => DetectHandler.create(model, given, services, worker),
  });
}

export interface Seen {
  readonly ptsNs: bigint | null;
  readonly detections: Detections;
}

export interface Run {
  readonly seen: readonly Seen[];
  readonly events: readonly GraphEvent[];
  readonly state: "finished" | "failed";
  readonly reason: string;
}

export interface Order {
  readonly pattern?: string;
  readonly picture?: string;
  readonly properties?: string;
  readonly live?: boolean;
  check?(frame: Frame, detections: Detections): void;
}

const validate = new Ajv2020({ strict: true }).compile(Detections);

/** Runs a graph on a ball moving over black, or another test pattern. */
export async function run(element: AnyElement, order: Order = {}): Promise<Run> {
  const {
    pattern = "ball",
    picture = "width=160&height=90&fps=25&frames=12",
    properties = "",
    live = false,
    check,
  } = order;
  const seen: Seen[] = [];
  const events: GraphEvent[] = [];
  const collect = collector((frame) => {
    const detections = frame.meta.detections as Detections;
    assert.ok(validate(detections), JSON.stringify(validate.errors));
    seen.push({ ptsNs: frame.ptsNs, detections });
    check?.(frame, detections);
  });
  const pace = live ? "pace=realtime" : "pace=fast";
  const line = `source uri="test:${pattern}?${picture}" ${pace} ! decode ! detect ${properties} ! collect`;
  const extra = [element, collect];
  const graph = await start(compiledLaunch(line, ...extra), extra, { onEvent: (event) => events.push(event) });
  const { state, error } = await graph.ended;
  return { seen, events, state, reason: error?.message ?? "" };
}

export const finished = async (...args: Parameters<typeof run>): Promise<Run> => {
  const result = await run(...args);
  assert.deepEqual([result.state, result.reason], ["finished", ""]);
  return result;
};

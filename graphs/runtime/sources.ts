/** The sources of a plan: the files it reads, the nodes that video frames come from, and seeking before the start. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Pipeline } from "../../native/pipeline.ts";
import type { Registry } from "../../schemas/registry.ts";
import type { GraphPlan, PlanNode, PlanSegment } from "../compiler/plan.ts";
import { LIMITS } from "./limits.ts";

export function listSourceFiles(plan: GraphPlan): readonly string[] {
  const nodes = [plan.main, ...plan.branches].flatMap((segment) => segment.nodes);
  return nodes
    .filter((node) => node.factory === "filesrc")
    .flatMap((node) => (typeof node.properties.location === "string" ? [node.properties.location] : []));
}

/**
 * After each source, the first node that outputs decoded frames: packets differ from frames in order and number. Without
 * a decoder, the node that outputs access units, else the source itself.
 */
export function findOrigins(segments: readonly PlanSegment[], registry: Pick<Registry, "get">): readonly string[] {
  const nodes = segments.flatMap((segment) => segment.nodes);
  const links = segments.flatMap((segment) => segment.links);
  const lasts = new Map(nodes.map((node) => [node.author, node.name]));
  const fed = new Set(links.map((link) => link.to));
  const roots = nodes.filter((node) => !fed.has(node.name));
  // With a `source`, other nodes without input (a logo, a clock) do not count.
  const sources = roots.filter((node) => node.element === "source");
  const origins = (sources.length > 0 ? sources : roots).map((root) => {
    const path = followLinks(root, nodes, links);
    const found =
      path.find((node) => node.element === "decode" || isVideo(node, registry, "Decoder")) ??
      path.find((node) => isVideo(node, registry, "Parser") && node.element !== "source") ??
      path.find((node) => isVideo(node, registry, "Depayloader"));
    return lasts.get((found ?? root).author) ?? root.name;
  });
  return [...new Set(origins)];
}

/** The node and all nodes after it, nearest first. */
function followLinks(root: PlanNode, nodes: readonly PlanNode[], links: PlanSegment["links"]): readonly PlanNode[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const path = [root];
  for (const node of path)
    for (const { from, to } of links) {
      const next = byName.get(to);
      if (from === node.name && next !== undefined && !path.includes(next)) path.push(next);
    }
  return path;
}

/** By its class in the registry, such as `Codec/Decoder/Video` or `Generic/Bin/Decoder`. */
function isVideo({ kind, factory }: PlanNode, registry: Pick<Registry, "get">, role: string): boolean {
  const words = kind === "native" ? (registry.get(factory)?.klass.split("/") ?? []) : [];
  return words.includes(role) && !words.includes("Audio") && !words.includes("Subtitle");
}

/** The node that holds frames back until PLAYING, after a file source at pace `realtime`. */
export const findPacedFile = ({ source, main }: GraphPlan): string | undefined =>
  source?.pace === "realtime"
    ? main.nodes.find(({ factory, element }) => factory === "clocksync" && element === "source")?.name
    : undefined;

const METER = "position";
const POLL_MS = 5;

/**
 * Makes a pipeline PAUSED and seeks to the frame at or after the position. Waits for a first frame at the node: only then is
 * autoplugging complete, and a seek during autoplugging breaks it. False when the source is not seekable. Stops waiting
 * when `ended` settles.
 */
export async function pauseAt(
  pipeline: Pick<Pipeline, "setState" | "seek" | "meter" | "meters">,
  node: string,
  toNs: bigint,
  ended: Promise<unknown>,
): Promise<boolean> {
  // Before any frame: the node holds the first one until PLAYING, and no other would be counted.
  pipeline.meter(METER, node, node);
  await pipeline.setState("PAUSED", LIMITS.startMs);
  const untilMs = performance.now() + LIMITS.startMs;
  const over = ended.then(() => true);
  over.catch(() => {}); // may reject long after this
  while ((pipeline.meters([METER])[METER]?.in ?? 0) === 0) {
    if (await Promise.race([over, sleep(POLL_MS, false)])) return true;
    if (performance.now() > untilMs) throw new Error(`no frame within ${LIMITS.startMs} ms`);
  }
  return pipeline.seek(toNs, true, node).then(
    () => true,
    () => false,
  );
}

/** On which node a process starts. Pure: the node itself checks once more, in the transaction that stores the process. */
import type { NodeRow } from "../store/nodes.ts";

export interface PlacedProcess {
  readonly graph: string;
  /** Null: one that is installed. */
  readonly graphText: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly cores: number;
  readonly memoryBytes: number;
}

/**
 * The nodes that can run it, the best first: those that have its video, then the less loaded of two at random, and so on.
 * Not simply the least loaded: all nodes that place at the same time would choose the same one.
 */
export function rankNodes(
  nodes: readonly NodeRow[],
  process: PlacedProcess,
  hasVideo: (node: NodeRow) => boolean = () => false,
  random: () => number = Math.random,
): readonly NodeRow[] {
  const able = nodes.filter((node) => canRun(node, process));
  const near = able.filter(hasVideo);
  const far = able.filter((node) => !near.includes(node));
  return [...drawInPairs(near, random), ...drawInPairs(far, random)];
}

export function canRun(node: NodeRow, { graph, graphText, labels, cores, memoryBytes }: PlacedProcess): boolean {
  const fits = (limit: number | null, used: number, more: number): boolean => limit === null || used + more <= limit;
  return (
    node.isLive &&
    node.url !== null &&
    node.drainsUntil === null &&
    (graphText !== null || Object.hasOwn(node.graphs, graph)) &&
    Object.entries(labels).every(([name, value]) => node.labels[name] === value) &&
    fits(node.maxProcesses, node.processes, 1) &&
    fits(node.cores, node.reservedCores, cores) &&
    fits(node.memoryBytes, node.reservedBytes, memoryBytes)
  );
}

function drawInPairs(nodes: readonly NodeRow[], random: () => number): readonly NodeRow[] {
  const left = [...nodes];
  const drawn: NodeRow[] = [];
  const pick = (): NodeRow | undefined => left.splice(Math.floor(random() * left.length), 1)[0];
  for (let first = pick(); first !== undefined; first = pick()) {
    const second = pick();
    const [better, other] = second !== undefined && loadOf(second) < loadOf(first) ? [second, first] : [first, second];
    drawn.push(better);
    if (other !== undefined) left.push(other);
  }
  return drawn;
}

/** From 0 to 1 where the node has limits. Otherwise nodes are compared by their processes a core, as far as measured. */
function loadOf({ cores, reservedCores, maxProcesses, processes, load }: NodeRow): number {
  if (cores !== null && cores > 0) return reservedCores / cores;
  if (maxProcesses !== null && maxProcesses > 0) return processes / maxProcesses;
  return processes + (load?.cores ?? 0) / 1000;
}

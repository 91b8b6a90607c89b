/** One connection to a live source: a separate pipeline that feeds an appsrc of the graph's pipeline. */
import type { Expansion, Ingest, MetadataTap } from "../../elements/element.ts";
import { readSrtStats } from "../../elements/source/srt-stats.ts";
import { type NativeSegment, Pipeline } from "../../native/pipeline.ts";
import { LIMITS } from "./limits.ts";

export async function startIngest(
  graph: Pipeline,
  appsrc: string,
  expansion: Expansion,
  metadata?: MetadataTap,
): Promise<Ingest> {
  const pipeline = new Pipeline({ name: `${appsrc}-ingest`, epochNs: 0n });
  let close: Promise<void> | undefined;
  const closeOnce = () => {
    close ??= pipeline.close(LIMITS.ingestCloseMs);
    return close;
  };
  try {
    await pipeline.build(toSegment(expansion));
    const last = expansion.nodes.at(-1);
    if (last === undefined) throw new Error("the expansion of an ingest is empty");
    graph.relayFrom(appsrc, pipeline, last.suffix);
    if (metadata !== undefined)
      for (const { suffix } of expansion.nodes)
        graph.relayMetadata(appsrc, pipeline, suffix, metadata.caps, (packet) => metadata.onPacket(packet));
    // Does not wait for PLAYING: the watchdog detects a camera that hangs.
    await pipeline.setState("PLAYING", 0);
  } catch (error) {
    await closeOnce().catch(() => {});
    throw error;
  }
  const srt = expansion.nodes.find(({ factory }) => factory === "srtsrc");
  return {
    idleMs: () => graph.relayStatus(appsrc).idleMs,
    get flowing() {
      return graph.relayStatus(appsrc).flowing;
    },
    ended: watch(pipeline),
    close: closeOnce,
    ...(srt !== undefined && {
      // Rejects while it is being closed.
      readLink: () => pipeline.get(srt.suffix, "stats").then(readSrtStats, () => null),
    }),
  };
}

/** Null at end of stream or when closed, else the error. */
async function watch(pipeline: Pipeline): Promise<Error | null> {
  for await (const message of pipeline.messages()) {
    if (message.type === "eos") return null;
    if (message.type === "error") return new Error(describeError(message), { cause: message.debug });
  }
  return null;
}

/** GStreamer's message with the detail of its debug text, such as the status of a camera's response. */
function describeError({ message, debug }: { message: string; debug: string }): string {
  const detail = debug.split("\n")[1]?.trim() ?? "";
  return detail === "" ? message : `${message}: ${detail}`;
}

function toSegment({ nodes }: Expansion): NativeSegment {
  return {
    nodes: nodes.map((node) => ({
      name: node.suffix,
      factory: node.factory,
      properties: node.properties as Record<string, string | number | boolean>,
    })),
    links: nodes.slice(1).map((node, index) => {
      const before = nodes[index];
      return {
        from: before?.suffix ?? "",
        to: node.suffix,
        ...(before?.onward === undefined ? {} : { caps: before.onward }),
      };
    }),
  };
}

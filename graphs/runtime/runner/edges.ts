/** Shows what passes the edges of a running graph. Costs nothing while no one asks: a probe is there for one frame. */
import { RequestRejected } from "../../../ipc/channel.ts";
import type { EdgeBuffer } from "../../../native/addon.ts";
import type { SeenEdge } from "../../../schemas/runner.ts";
import { toMilliseconds } from "../../../schemas/time.ts";
import type { PlanLink, PlanSegment } from "../../compiler/plan.ts";
import type { BuiltGraph } from "../run-options.ts";

const LIMITS = {
  /** Of the longer side of a picture. */
  pixels: 1280,
  metadataBytes: 256 * 1024,
  /** Edges that are waited for at once. */
  edges: 4,
  waitMs: 2_000,
  /** Requests for one edge within this time get the same frame. */
  keepMs: 200,
};

export class Edges {
  readonly #graph: Pick<BuiltGraph, "pipeline" | "segments">;
  /** Being waited for, or just seen. */
  readonly #seen = new Map<string, Promise<SeenEdge>>();

  constructor(graph: Pick<BuiltGraph, "pipeline" | "segments">) {
    this.#graph = graph;
  }

  /** `from` and `to`: nodes, or steps. Rejects with `RequestRejected`. */
  async see(from: string, to: string): Promise<SeenEdge> {
    const link = this.#expectLink(from, to);
    const key = JSON.stringify([link.from, link.to]);
    const found = this.#seen.get(key);
    if (found !== undefined) return found;
    if (this.#seen.size >= LIMITS.edges)
      throw new RequestRejected("busy", `${LIMITS.edges} edges are being shown already; try again in a moment`);
    const seen = this.#wait(link);
    this.#seen.set(key, seen);
    seen.then(
      ({ frame }) => setTimeout(() => this.#seen.delete(key), frame === null ? 0 : LIMITS.keepMs).unref(),
      () => this.#seen.delete(key),
    );
    return seen;
  }

  #wait({ from, to }: PlanLink): Promise<SeenEdge> {
    return new Promise((resolve) => {
      const end = (answer: Pick<SeenEdge, "frame" | "detail">): void => {
        clearTimeout(timer);
        resolve({ from, to, ...answer });
      };
      const stop = this.#place(from, to, (buffer) => end(describe(buffer)));
      const timer = setTimeout(() => {
        stop();
        end({ frame: null, detail: `nothing has passed within ${LIMITS.waitMs / 1000} s` });
      }, LIMITS.waitMs);
    });
  }

  #place(from: string, to: string, seen: (buffer: EdgeBuffer) => void): () => void {
    try {
      return this.#graph.pipeline.seeEdge(from, to, LIMITS.pixels, seen);
    } catch (error) {
      // Linked later, as the pads of a demuxer, or in another pipeline, as those of a live source.
      throw new RequestRejected(
        "wrong_state",
        `the edge from ${from} to ${to} cannot be seen: ${(error as Error).message}`,
      );
    }
  }

  #expectLink(from: string, to: string): PlanLink {
    const segments = this.#graph.segments();
    const links = segments.flatMap((segment) => segment.links);
    const steps = stepNames(segments);
    const found =
      links.find((link) => link.from === from && link.to === to) ??
      links.find((link) => steps.get(link.from) === from && steps.get(link.to) === to);
    if (found !== undefined) return found;
    const edges = links.map((link) => `${link.from} → ${link.to}`).join(", ");
    throw new RequestRejected("graph_lacks", `the graph has no edge from "${from}" to "${to}"; it has ${edges}`);
  }
}

const stepNames = (segments: readonly PlanSegment[]): ReadonlyMap<string, string> =>
  new Map(segments.flatMap(({ nodes }) => nodes.map(({ name, author }) => [name, author])));

function describe(buffer: EdgeBuffer): Pick<SeenEdge, "frame" | "detail"> {
  const { caps, ptsNs, bytes, keyframe, image, meta } = buffer;
  const written = JSON.stringify(meta, toJson);
  const isTooLarge = written.length > LIMITS.metadataBytes;
  return {
    frame: {
      ...{ caps, bytes, keyframe },
      pts_ms: ptsNs === null ? null : toMilliseconds(ptsNs),
      picture: image === null ? null : Buffer.from(image).toString("base64"),
      metadata: isTooLarge ? {} : JSON.parse(written),
    },
    detail: isTooLarge ? `the metadata is larger than ${LIMITS.metadataBytes / 1024} kB` : explainNoPicture(buffer),
  };
}

/** Elements of others may write what JSON does not have. */
const toJson = (_: string, value: unknown): unknown =>
  typeof value === "bigint" ? Number(value) : ArrayBuffer.isView(value) ? `${value.byteLength} bytes` : value;

function explainNoPicture({ caps, image, error }: EdgeBuffer): string | null {
  if (image !== null) return null;
  return error ?? `there are only pictures of raw video, and this is ${caps.split(",")[0]}`;
}

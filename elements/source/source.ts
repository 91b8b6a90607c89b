/**
 * The video source: a file, a test pattern or a camera. A step without `uri` uses the source the graph is started with.
 * Files and test patterns run as fast as the graph processes them (`pace: fast`) or in real time (`realtime`). A camera
 * is reconnected after a loss, transparently for the rest of the graph: frames pause and resume, nothing else restarts.
 */
import { Type } from "typebox";
import { defineElement, ExpandFault, type SourceBinding } from "../element.ts";
import { expandSource } from "./expand.ts";
import { describeSource, type SourceDescription } from "./uri.ts";

export default defineElement({
  kind: "composite",
  name: "source",
  about: "Reads video from a file, a test pattern, or an RTSP, RTMP, SRT or UDP source, with reconnects.",
  example: `
graph: source-example
about: Play ten seconds of a test pattern in real time.
chains:
  main:
    - source: { uri: "test:ball?width=1280&height=720&fps=30&seconds=10", pace: realtime }
    - decode
    - print
`,
  properties: Type.Object({
    uri: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "A path, test:PATTERN?width=&height=&fps=&frames= (or seconds=), or an rtsp, rtsps, rtmp, rtmps, srt or udp (MPEG-TS) URL. Default: the source the graph is started with.",
      }),
    ),
    pace: Type.Optional(
      Type.Enum(["realtime", "fast"], {
        description: "For files and test patterns: in real time, or as fast as possible (the default).",
      }),
    ),
    loop: Type.Optional(
      Type.Boolean({
        description: "For files: start again at the end, in real time, like a camera that never stops.",
      }),
    ),
    latencyMs: Type.Integer({
      default: 200,
      minimum: 0,
      maximum: 10_000,
      description:
        "Jitter buffer for RTSP packets, and the latency of SRT without `latency` in its URL, in milliseconds.",
    }),
    transport: Type.Enum(["tcp", "udp", "auto"], {
      default: "tcp",
      description: "Transport of RTSP packets; auto tries UDP, then TCP.",
    }),
    connectMs: Type.Integer({
      default: 5000,
      minimum: 100,
      maximum: 60_000,
      description:
        "Time limit for a live source to send data after connecting, in milliseconds. If the first connection fails, the graph fails.",
    }),
    stallMs: Type.Integer({
      default: 3000,
      minimum: 100,
      maximum: 60_000,
      description: "A live source that sends no data for this time is reconnected, in milliseconds.",
    }),
    giveUpSeconds: Type.Integer({
      default: 300,
      minimum: 0,
      maximum: 31_536_000,
      description: "The graph fails when a live source is offline for this time; 0 fails at the first loss.",
    }),
  }),
  expand(properties, { source, registry }) {
    const bound = bind(properties, source);
    try {
      return expandSource(describe(bound), bound, registry);
    } catch (error) {
      // The source the graph is started with has no line in the graph.
      throw properties.uri === undefined && error instanceof ExpandFault ? new ExpandFault(null, error.message) : error;
    }
  },
  preload: () => import("./pull.ts"),
  /** Live sources have pipelines of their own, which `drive` taps. */
  async tap(properties, services) {
    if (describe(bind(properties, services.source)).kind !== "file") return null;
    const { tapSound } = await import("./sound.ts");
    return tapSound(services);
  },
  async drive(properties, services) {
    const description = describe(bind(properties, services.source));
    if (description.kind !== "live") return { close() {} };
    const { pullLive } = await import("./pull.ts");
    const giveUpSeconds = services.job.giveUpSeconds ?? properties.giveUpSeconds;
    const metadata = services.source?.metadata ?? false;
    return pullLive(description, { ...properties, giveUpSeconds, metadata }, services);
  },
});

/** The properties of the step override the source the graph is started with. */
function bind(own: Partial<SourceBinding>, started: SourceBinding | null): SourceBinding {
  const uri = own.uri ?? started?.uri;
  if (uri === undefined)
    throw new ExpandFault(null, "no source: start the graph on a file, test:PATTERN or URL, or give this step a uri");
  const pace = own.pace ?? started?.pace;
  const loop = own.loop ?? (own.uri === undefined ? started?.loop : undefined);
  const demuxer = own.uri === undefined ? started?.demuxer : undefined;
  return {
    uri,
    ...(pace !== undefined && { pace }),
    ...(loop !== undefined && { loop }),
    ...(demuxer !== undefined && { demuxer }),
  };
}

/** A looped file is pulled like a camera: every pass is a connection of its own. */
function describe({ uri, loop = false, demuxer }: SourceBinding): SourceDescription {
  const source = describeSource(uri);
  if (!loop) return source;
  if (source.kind !== "file")
    throw new ExpandFault("loop", `only files can be looped: remove loop from ${source.display}`);
  return { kind: "live", protocol: "file", url: source.path, display: source.display, ...(demuxer && { demuxer }) };
}

/**
 * Where video comes in: a file, a generated picture or a camera. A step without `uri` takes what the graph is started
 * on. Files and pictures come as fast as the rest of the graph takes them (`pace: fast`) or as they would be shown
 * (`realtime`). A camera that goes away is connected again, behind the back of the rest of the graph: the frames pause
 * and go on, nothing else restarts.
 */
import { Type } from "typebox";
import { defineElement, ExpandFault, type SourceBinding } from "../element.ts";
import { expandSource } from "./expand.ts";
import { describeSource } from "./uri.ts";

export default defineElement({
  kind: "composite",
  name: "source",
  about: "Brings in video from a file, a test pattern, or a camera by RTSP or RTMP, with reconnects.",
  example: `
graph: source-example
about: Ten seconds of a test pattern at the pace of a camera.
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
          "A path, test:PATTERN?width=&height=&fps=&frames= (or seconds=), or an rtsp, rtsps, rtmp or rtmps URL. Default: what the graph is started on.",
      }),
    ),
    pace: Type.Optional(
      Type.Enum(["realtime", "fast"], {
        description:
          "Of files and test patterns: as they would be shown, or as fast as they can be taken (the default).",
      }),
    ),
    latencyMs: Type.Integer({
      default: 200,
      minimum: 0,
      maximum: 10_000,
      description: "How long RTSP packets may wait for the ones before them.",
    }),
    transport: Type.Enum(["tcp", "udp", "auto"], {
      default: "tcp",
      description: "What RTSP sends its packets by; auto tries UDP, then TCP.",
    }),
    connectMs: Type.Integer({
      default: 5000,
      minimum: 100,
      maximum: 60_000,
      description: "A live source must send within this time. The first time it does not, the graph fails.",
    }),
    stallMs: Type.Integer({
      default: 3000,
      minimum: 100,
      maximum: 60_000,
      description: "A live source that sends nothing for this time is connected anew.",
    }),
    giveUpSeconds: Type.Integer({
      default: 300,
      minimum: 0,
      maximum: 31_536_000,
      description: "A live source that stays away for this time ends the graph; 0 ends it at the first loss.",
    }),
  }),
  expand(properties, { source, registry }) {
    const bound = bind(properties, source);
    try {
      return expandSource(describeSource(bound.uri), bound, registry);
    } catch (error) {
      // What the graph is started on stands on no line of the graph.
      throw properties.uri === undefined && error instanceof ExpandFault ? new ExpandFault(null, error.message) : error;
    }
  },
  preload: () => import("./pull.ts"),
  async drive(properties, services) {
    const description = describeSource(bind(properties, services.source).uri);
    if (description.kind !== "live") return { close() {} };
    const { pullLive } = await import("./pull.ts");
    const giveUpSeconds = services.job.giveUpSeconds ?? properties.giveUpSeconds;
    return pullLive(description, { ...properties, giveUpSeconds }, services);
  },
});

/** What the step says, else what the graph is started on. */
function bind(own: Partial<SourceBinding>, started: SourceBinding | null): SourceBinding {
  const uri = own.uri ?? started?.uri;
  if (uri === undefined)
    throw new ExpandFault(null, "no source: start the graph on a file, test:PATTERN or URL, or give this step a uri");
  const pace = own.pace ?? started?.pace;
  const demuxer = own.uri === undefined ? started?.demuxer : undefined;
  return { uri, ...(pace !== undefined && { pace }), ...(demuxer !== undefined && { demuxer }) };
}

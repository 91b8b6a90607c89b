/**
 * Where video comes in: a file, a generated picture or a camera. A step without `uri` takes what the graph is started
 * on. Files and pictures come as fast as the rest of the graph takes them (`pace: fast`) or as they would be shown
 * (`realtime`). A camera that goes away is connected again, behind the back of the rest of the graph: the frames pause
 * and go on, nothing else restarts.
 */
import { Type } from "typebox";
import { defineElement, ExpandFault, type SourceBinding } from "../element.ts";
import { expandFile, expandLive, expandTest, type Pace } from "./expand.ts";
import { describeSource, type SourceDescription } from "./uri.ts";

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
    const description = bind(properties.uri, source);
    if (description.kind === "live") {
      if ((properties.pace ?? (properties.uri === undefined ? source?.pace : undefined)) === "fast")
        throw new ExpandFault(
          properties.pace === undefined ? null : "pace",
          `${description.display} is live and has a pace of its own; leave pace out, or start on a file`,
        );
      return expandLive();
    }
    const pace: Pace = properties.pace ?? source?.pace ?? "fast";
    return description.kind === "file" ? expandFile(description, pace) : expandTest(description, pace, registry);
  },
  async drive(properties, services) {
    const description = bind(properties.uri, services.source);
    if (description.kind !== "live") return { close() {} };
    const { pullLive } = await import("./pull.ts");
    return pullLive(description, properties, services);
  },
});

/** The step's own URI, else the one the graph is started on; a fault of the latter is nobody's line in the graph. */
function bind(uri: string | undefined, source: SourceBinding | null): SourceDescription {
  if (uri !== undefined) return describeSource(uri);
  if (source === null)
    throw new ExpandFault(null, "no source: start the graph on a file, test:PATTERN or URL, or give this step a uri");
  try {
    return describeSource(source.uri);
  } catch (error) {
    throw error instanceof ExpandFault ? new ExpandFault(null, error.message) : error;
  }
}

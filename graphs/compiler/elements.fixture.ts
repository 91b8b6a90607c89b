/** Small elements with the names and metadata of the real ones. */
import { Type } from "typebox";
import { type AnyElement, defineElement, type ExpandedNode, ExpandFault } from "../../elements/element.ts";

const node = (suffix: string, name: string, properties: ExpandedNode["properties"] = {}): ExpandedNode => ({
  suffix,
  factory: name,
  properties,
});

const I420 = "video/x-raw,format={I420,NV12}";
const described = (name: string) => ({ name, about: `${name}, for tests.`, example: "" });
const idle = () => ({ process() {} });

const ELEMENTS: readonly AnyElement[] = [
  defineElement({
    ...described("source"),
    kind: "composite",
    properties: Type.Object({
      uri: Type.Optional(Type.String()),
      pace: Type.Optional(Type.Union([Type.Literal("realtime"), Type.Literal("fast")])),
      latencyMs: Type.Integer({ default: 200, minimum: 0 }),
    }),
    expand(properties, context) {
      const uri = properties.uri ?? context.source?.uri;
      if (uri === undefined) throw new ExpandFault(null, "uri is missing");
      if (uri.startsWith("bad:")) throw new ExpandFault("uri", `"${uri}" is not a source`);
      if (uri.startsWith("rtsp:")) return { nodes: [node("in", "appsrc")] };
      if (!uri.startsWith("test:")) return { nodes: [{ ...node("file", "filesrc", { location: uri }) }] };
      return { nodes: [node("test", "videotestsrc", { pattern: uri.slice(5) })] };
    },
    drive: () => ({ close() {} }),
  }),
  defineElement({
    ...described("decode"),
    kind: "composite",
    properties: Type.Object({}),
    expand: () => ({
      nodes: [
        { ...node("bin", "decodebin"), onward: "video/x-raw" },
        node("convert", "videoconvert"),
        node("format", "capsfilter", { caps: I420 }),
      ],
      prefer: ["hwdec"],
    }),
  }),
  defineElement({
    ...described("stage"),
    kind: "composite",
    properties: Type.Object({ buffers: Type.Integer({ default: 8, minimum: 1, live: true }) }),
    expand: ({ buffers }, { live }) => ({
      nodes: [node("queue", "queue", { "max-size-buffers": buffers, leaky: live ? "downstream" : "no" })],
    }),
  }),
  defineElement({
    ...described("detect"),
    kind: "transform",
    caps: I420,
    properties: Type.Object({
      model: Type.String({ default: "default" }),
      confidence: Type.Number({ default: 0.4, minimum: 0, maximum: 1, live: true }),
      classes: Type.Optional(Type.Array(Type.Object({ name: Type.String(), above: Type.Number({ minimum: 0 }) }))),
    }),
    writes: ["detections"],
    create: idle,
  }),
  defineElement({
    ...described("track"),
    kind: "transform",
    caps: "ANY",
    properties: Type.Object({ maxAgeMs: Type.Integer({ default: 1500, minimum: 0, live: true }) }),
    reads: ["detections"],
    writes: ["tracks"],
    create: idle,
  }),
  defineElement({
    ...described("geolocate"),
    kind: "transform",
    caps: "ANY",
    properties: Type.Object({}),
    reads: [{ oneOf: ["tracks", "detections"] }],
    writes: ["places"],
    create: idle,
  }),
  defineElement({
    ...described("alerts"),
    kind: "transform",
    caps: "ANY",
    properties: Type.Object({}),
    reads: [{ optional: "places" }],
    create: idle,
  }),
  defineElement({ ...described("report"), kind: "transform", caps: "ANY", properties: Type.Object({}), create: idle }),
  defineElement({
    ...described("overlay"),
    kind: "transform",
    caps: I420,
    access: "write",
    properties: Type.Object({}),
    reads: [{ optional: "detections" }],
    create: idle,
  }),
  defineElement({
    ...described("detections"),
    kind: "sink",
    caps: "ANY",
    properties: Type.Object({}),
    reads: ["detections", { optional: "tracks" }],
    create: idle,
  }),
  defineElement({ ...described("feed"), kind: "sink", caps: "image/jpeg", properties: Type.Object({}), create: idle }),
  defineElement({ ...described("print"), kind: "sink", caps: "ANY", properties: Type.Object({}), create: idle }),
  defineElement({
    ...described("resize"),
    kind: "composite",
    properties: Type.Object({
      to: Type.Union([Type.Literal("360p"), Type.Literal("720p"), Type.Literal("1080p"), Type.Null()]),
    }),
    expand: ({ to }) => ({
      nodes:
        to === null
          ? []
          : [
              node("convert", "videoconvert"),
              node("size", "capsfilter", { caps: `video/x-raw,height=${Number.parseInt(to, 10)}` }),
            ],
    }),
  }),
  defineElement({
    ...described("encode"),
    kind: "composite",
    properties: Type.Object({
      codec: Type.Union([Type.Literal("h264"), Type.Literal("h265")], { default: "h264" }),
      keyframeSeconds: Type.Number({ default: 2, exclusiveMinimum: 0 }),
      bitrateKbps: Type.Integer({ default: 3000, minimum: 1, live: true }),
    }),
    expand: ({ codec, bitrateKbps }) => ({
      nodes:
        codec === "h265"
          ? [node("encoder", "x265enc")]
          : [node("encoder", "x264enc", { bitrate: bitrateKbps }), node("parse", "h264parse")],
    }),
  }),
  defineElement({
    ...described("publish"),
    kind: "composite",
    properties: Type.Object({ url: Type.String({ minLength: 1 }) }),
    expand: ({ url }) => ({ nodes: [node("sink", "filesink", { location: url })] }),
  }),
];

export const elements: ReadonlyMap<string, AnyElement> = new Map(ELEMENTS.map((element) => [element.name, element]));

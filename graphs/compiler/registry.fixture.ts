/** A small registry written by hand, so that tests say all they depend on. */
import type { FactoryInfo, PadInfo, PropertyInfo, Registry } from "../../schemas/registry.ts";

const property = (kind: PropertyInfo["kind"], part: Partial<PropertyInfo> = {}): PropertyInfo => ({
  kind,
  gtype: `G${kind}`,
  about: "",
  default: null,
  writable: true,
  readable: true,
  live: false,
  deprecated: false,
  ...part,
});

const integer = (minimum: number, maximum: number, part: Partial<PropertyInfo> = {}) =>
  property("integer", { minimum, maximum, ...part });

const choices = (...nicks: readonly string[]) => ({ values: nicks.map((nick, value) => ({ nick, value, about: "" })) });

const pad = (direction: PadInfo["direction"], caps = "ANY", part: Partial<PadInfo> = {}): PadInfo => ({
  name: direction,
  direction,
  presence: "always",
  caps,
  ...part,
});

const through = (caps = "ANY"): readonly PadInfo[] => [pad("sink", caps), pad("src", caps)];
const RAW = "video/x-raw, format=(string){ I420, NV12, RGB }, width=(int)[ 1, 32767 ]";
const H264 = "video/x-h264, stream-format=(string){ avc, byte-stream }";

function factory(name: string, pads: readonly PadInfo[], properties: FactoryInfo["properties"] = {}): FactoryInfo {
  const none = { longName: name, about: "", klass: "", plugin: "test", rank: 0, liveSource: false, bases: [] };
  return { ...none, name, pads, properties };
}

const FACTORIES = [
  factory("videotestsrc", [pad("src", RAW)], {
    pattern: property("enum", choices("smpte", "snow", "black", "ball")),
    "is-live": property("boolean"),
    "num-buffers": integer(-1, 2147483647),
  }),
  factory("filesrc", [pad("src")], { location: property("string") }),
  factory("queue", through(), {
    "max-size-buffers": integer(0, 4294967295, { live: true }),
    "current-level-buffers": integer(0, 4294967295, { writable: false }),
    leaky: property("enum", { ...choices("no", "upstream", "downstream"), live: true }),
  }),
  factory("tee", [pad("sink"), pad("src", "ANY", { name: "src_%u", presence: "request" })], {
    "allow-not-linked": property("boolean"),
    "alloc-pad": property("opaque", { gtype: "GstPad" }),
  }),
  factory("funnel", [pad("sink", "ANY", { name: "sink_%u", presence: "request" }), pad("src")]),
  factory("identity", through(), { "sleep-time": integer(0, 4294967295) }),
  factory("capsfilter", through(), { caps: property("caps", { live: true }) }),
  factory("videoconvert", through("video/x-raw")),
  factory("videoscale", through("video/x-raw")),
  factory("videoflip", through("video/x-raw")),
  factory("keyframes", through("video/x-raw"), { interval: integer(0, 2147483647) }),
  factory("appsrc", [pad("src")]),
  factory("videorate", through("video/x-raw"), {
    rate: property("number", { minimum: 0 }),
    "max-rate": integer(1, 60),
  }),
  factory("x264enc", [pad("sink", RAW), pad("src", H264)], {
    bitrate: integer(1, 2048000, { live: true }),
    "key-int-max": integer(0, 2147483647),
    tune: property("flags", {
      values: ["stillimage", "fastdecode", "zerolatency"].map((nick, bit) => ({ nick, value: 1 << bit, about: "" })),
    }),
  }),
  factory("h264parse", through("video/x-h264")),
  factory("jpegenc", [pad("sink", RAW), pad("src", "image/jpeg")], { quality: integer(0, 100, { live: true }) }),
  factory("decodebin", [pad("sink"), pad("src", "ANY", { name: "src_%u", presence: "sometimes" })]),
  factory("qtdemux", [
    pad("sink", "video/quicktime"),
    pad("src", "ANY", { name: "video_%u", presence: "sometimes" }),
    pad("src", "ANY", { name: "audio_%u", presence: "sometimes" }),
  ]),
  {
    ...factory("compositor", [
      pad("sink", RAW, {
        name: "sink_%u",
        presence: "request",
        properties: {
          xpos: integer(-2147483648, 2147483647, { live: true }),
          alpha: property("number", { minimum: 0, maximum: 1 }),
        },
      }),
      pad("src", RAW),
    ]),
    bases: ["GstVideoAggregator", "GstAggregator"],
  },
  factory("mp4mux", [
    pad("sink", "video/x-h264", { name: "video_%u", presence: "request" }),
    pad("sink", "audio/mpeg", { name: "audio_%u", presence: "request" }),
    pad("src", "video/quicktime"),
  ]),
  factory("flvmux", [
    pad("sink", "video/x-h264", { name: "video", presence: "request" }),
    pad("sink", "audio/mpeg", { name: "audio", presence: "request" }),
    pad("src", "video/x-flv"),
  ]),
  factory("appsink", [pad("sink")]),
  factory("playbin", []),
  factory("fakesink", [pad("sink")], { sync: property("boolean"), "max-lateness": integer(-1, 1000) }),
  factory("filesink", [pad("sink")], { location: property("string") }),
  factory("framestep", through(), { step: property("fraction"), extra: property("structure") }),
];

export const registry: Registry = {
  list: () => FACTORIES,
  get: (name) => FACTORIES.find((known) => known.name === name),
};

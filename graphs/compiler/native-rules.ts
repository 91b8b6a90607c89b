/** Elements of GStreamer that a graph can name and that would then do nothing, wait for ever or fail at the start. */
import type { FactoryInfo } from "../../schemas/registry.ts";
import type { FaultList } from "./fault-list.ts";
import type { PreparedStep } from "./prepare.ts";

interface Refusal {
  readonly why: string;
  readonly expected: string;
}

const HAND_OUT = "`fakesink`, `print`, `detections` or an element of your own in its place";
const OTHER_PIPELINE: Refusal = {
  why: "needs its counterpart in another pipeline of the same program",
  expected: "`tee` and `queue`, or `intervideosink` and `intervideosrc`",
};
const DESCRIPTORS: Refusal = {
  why: "needs file descriptors from the program that it runs in",
  expected: "`shmsink` and `shmsrc`, or `tcpserversink` and `tcpclientsrc`",
};
const STREAMS: Refusal = {
  why: "needs a stream object from the program that it runs in",
  expected: "`filesrc`, `filesink`, `giosrc` or `giosink`",
};

/** They are driven by code that holds the element, and a graph has none. */
const DRIVEN_BY_CODE: ReadonlyMap<string, Refusal> = new Map([
  ["appsink", { why: "hands frames to code that asks for them, and no code does", expected: HAND_OUT }],
  ["appsrc", { why: "gets its frames from code, and no code gives it any", expected: "`source` or `videotestsrc`" }],
  ["proxysink", OTHER_PIPELINE],
  ["proxysrc", OTHER_PIPELINE],
  ["ipcpipelinesink", DESCRIPTORS],
  ["ipcpipelinesrc", DESCRIPTORS],
  ["giostreamsink", STREAMS],
  ["giostreamsrc", STREAMS],
  [
    "webrtcbin",
    { why: "needs code for its signalling", expected: "`publish` to the hub, which answers WebRTC players (WHEP)" },
  ],
]);

/** Without these they fail at the start. GStreamer marks no property as required. */
const REQUIRED: ReadonlyMap<string, string> = new Map([
  ["filesrc", "location"],
  ["filesink", "location"],
  ["rtmp2sink", "location"],
  ["rtmp2src", "location"],
  ["rtspclientsink", "location"],
  ["rtspsrc", "location"],
  ["shmsink", "socket-path"],
  ["shmsrc", "socket-path"],
  ["souphttpsrc", "location"],
  ["splitmuxsink", "location"],
  ["splitmuxsrc", "location"],
  ["uridecodebin", "uri"],
  ["uridecodebin3", "uri"],
  ["urisourcebin", "uri"],
]);

/** Of a step that names the element itself: what a composite expands into is fed by the composite. */
export function checkUsable(step: PreparedStep, { name, pads }: FactoryInfo, faults: FaultList): void {
  const refusal = DRIVEN_BY_CODE.get(name);
  if (refusal !== undefined) {
    faults.add("unusable_element", step.at, `${name} ${refusal.why}`, refusal);
  } else if (pads.length === 0) {
    faults.add("unusable_element", step.at, `${name} has no pads: nothing can be linked to it`, {
      expected: "`source: { uri: … }` or `uridecodebin`, and a sink of your choice",
    });
  }
  const required = REQUIRED.get(name);
  const isGiven = step.properties.some(({ name: given, value, unknown }) => given === required && (unknown || value));
  if (required === undefined || isGiven) return;
  faults.add("bad_property", step.at, `${name} is without its property "${required}"`, {
    expected: `\`${required}\`, text that is not empty`,
  });
}

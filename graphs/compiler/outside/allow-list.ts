/**
 * What may be written by people who are no operators of this machine. A list of what is allowed, not of what is not: an
 * element or text that nobody has looked at is refused. Looked at means: it opens no file and no socket, loads nothing by
 * a name, and writes nowhere but downstream, whatever its properties say.
 */

/** Elements of a graph that is tried. `encode` stands in for the encoders: their own properties name files. */
export const ALLOWED_ELEMENTS: ReadonlySet<string> = new Set([
  ...["source", "decode", "stage", "detect", "track", "overlay", "resize", "encode", "detections", "feed"],
  ...["telemetry", "geolocate", "alerts", "report"],
  ...["queue", "tee", "identity", "capsfilter", "fakesink", "clocksync", "valve"],
  ...["videoconvert", "videoscale", "videorate", "videocrop", "aspectratiocrop", "videobox", "videoflip"],
  ...["videobalance", "gamma", "deinterlace", "gaussianblur", "compositor"],
  ...["textoverlay", "timeoverlay", "jpegenc", "jpegdec"],
]);

/** Texts that only ever say what to draw, to look for or to let through. All others name something outside the graph. */
export const FREE_TEXTS: Readonly<Record<string, readonly string[]>> = {
  alerts: ["rules"],
  detect: ["classes"],
  overlay: ["classes"],
  print: ["keys"],
  textoverlay: ["text", "font-desc"],
  timeoverlay: ["text", "font-desc"],
};

/** Texts that name a model: one that is installed, never a path. */
export const MODEL_TEXTS: Readonly<Record<string, readonly string[]>> = { detect: ["model"] };

/** No texts, and not harmless all the same: these write what passes to the runner's own output. */
export const REFUSED_PROPERTIES: Readonly<Record<string, readonly string[]>> = {
  identity: ["dump"],
  fakesink: ["dump"],
};

/**
 * Decodes any video to raw I420 or NV12, upright. `decodebin` and not `decodebin3`: for a single parsed stream it is
 * parser and decoder without a queue between them, and it passes raw video through. Downstream elements always receive
 * one of the two pixel formats that frames can be analysed and drawn in, rotated by the orientation tag of the file.
 *
 * Frames that nothing needs can be left out before the decoder; the runtime decodes all of them while a sink needs every
 * frame (graphs/runtime/needed-frames.ts).
 */
import { Type } from "typebox";
import type { Registry } from "../../schemas/registry.ts";
import { defineElement, type ExpandedNode, SKIP_FRAMES } from "../element.ts";

export default defineElement({
  kind: "composite",
  name: "decode",
  about: "Decodes video of any codec to raw I420 or NV12, in hardware if available.",
  example: `
graph: decode-example
about: Decode a clip and print every frame.
chains:
  main:
    - source
    - decode: { hardware: never }
    - print
`,
  properties: Type.Object({
    frames: Type.Enum(["all", "auto", "reference", "keyframes"], {
      default: "all",
      description:
        "Frames of H.264 and H.265 that are decoded while no output needs all of them: all; reference, without frames that no other is predicted from; keyframes; or auto, as few as `every` allows, with live sources only.",
    }),
    every: Type.Union([Type.Literal("auto"), Type.Literal("motion"), Type.Integer({ minimum: 1, maximum: 1000 })], {
      default: "auto",
      description:
        "With `frames: auto`, `every` of the detector: one of N frames is needed, with motion `max-per-second`, with auto all.",
    }),
    maxPerSecond: Type.Number({
      default: 12,
      minimum: 0.1,
      maximum: 120,
      description: "With `every: motion`, `max-per-second` of the detector.",
    }),
    hardware: Type.Enum(["auto", "never"], {
      default: "auto",
      description: "auto prefers hardware decoders; never uses software decoders only.",
    }),
  }),
  expand: ({ hardware, ...skipping }, { registry, live }) => ({
    prefer: hardware === "auto" ? listHardwareDecoders(registry) : [],
    nodes: [
      ...expandSkipping(skipping, live),
      {
        suffix: "bin",
        factory: "decodebin",
        properties: hardware === "never" ? { "force-sw-decoders": true } : {},
        onward: "video/x-raw(ANY)",
      },
      { suffix: "convert", factory: "videoconvert", properties: {} },
      { suffix: "format", factory: "capsfilter", properties: { caps: "video/x-raw,format={I420,NV12}" } },
      { suffix: "upright", factory: "videoflip", properties: { "video-direction": "auto" } },
    ],
  }),
});

interface Skipping {
  readonly frames: "all" | "auto" | "reference" | "keyframes";
  readonly every: "auto" | "motion" | number;
  readonly maxPerSecond: number;
}

/** At pace `fast`, `auto` skips nothing: the same clip gives the same results. */
function expandSkipping({ frames, every, maxPerSecond }: Skipping, live: boolean): readonly ExpandedNode[] {
  const areAllNeeded = frames === "all" || (frames === "auto" && (!live || every === "auto" || every === 1));
  if (areAllNeeded) return [];
  const needed = every === "motion" ? { rate: maxPerSecond } : { every };
  return [{ suffix: "skip", factory: SKIP_FRAMES, properties: { keep: frames, ...(frames === "auto" && needed) } }];
}

function listHardwareDecoders(registry: Registry): readonly string[] {
  return registry
    .list()
    .filter(({ klass }) => ["Decoder", "Video", "Hardware"].every((part) => klass.split("/").includes(part)))
    .sort((a, b) => b.rank - a.rank || a.name.localeCompare(b.name))
    .map(({ name }) => name);
}

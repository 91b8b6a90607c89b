/**
 * Decodes any video to raw I420 or NV12, upright. `decodebin` and not `decodebin3`: for a single parsed stream it is
 * parser and decoder without a queue between them, and it passes raw video through. Downstream elements always receive
 * one of the two pixel formats that frames can be analysed and drawn in, rotated by the orientation tag of the file.
 */
import { Type } from "typebox";
import type { Registry } from "../../schemas/registry.ts";
import { defineElement } from "../element.ts";

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
    hardware: Type.Enum(["auto", "never"], {
      default: "auto",
      description: "auto prefers hardware decoders; never uses software decoders only.",
    }),
  }),
  expand: ({ hardware }, { registry }) => ({
    prefer: hardware === "auto" ? listHardwareDecoders(registry) : [],
    nodes: [
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

function listHardwareDecoders(registry: Registry): readonly string[] {
  return registry
    .list()
    .filter(({ klass }) => ["Decoder", "Video", "Hardware"].every((part) => klass.split("/").includes(part)))
    .sort((a, b) => b.rank - a.rank || a.name.localeCompare(b.name))
    .map(({ name }) => name);
}

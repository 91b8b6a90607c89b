/**
 * Attaches stored detection messages to the frames they belong to, by capture time, so that later elements see the tracks as
 * they did when the messages were made. Between two messages boxes move in a straight line.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

const captureTime = (description: string) =>
  Type.Union([Type.Number(), Type.Null()], { default: null, description: `${description} Unix time in milliseconds.` });

export default defineElement({
  kind: "transform",
  name: "stored",
  about: "Attaches stored detections to frames, by capture time.",
  example: `
graph: stored-example
about: Draw stored detections on a video.
chains:
  main:
    - source
    - decode
    - stored: { path: detections.ndjson }
    - overlay
    - encode
    - record: { path: annotated.mp4 }
`,
  properties: Type.Object({
    path: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description: "File of detection messages, one per line, oldest first; null for none.",
    }),
    fromMs: captureTime("Drops frames before this time; null for none."),
    toMs: captureTime("Drops frames from this time on; null for none."),
  }),
  writes: ["tracks"],
  caps: "ANY",
  async create({ path, fromMs, toMs }) {
    const { StoredMessages } = await import("./messages.ts");
    const messages = new StoredMessages(path);
    return {
      async process(frame) {
        const timeMs = Number(frame.captureNs / 1000n) / 1000;
        if ((fromMs !== null && timeMs < fromMs) || (toMs !== null && timeMs >= toMs)) return "drop";
        frame.write({ tracks: await messages.at(timeMs) });
        return undefined;
      },
      close: () => messages.close(),
    };
  },
});

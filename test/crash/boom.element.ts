/** An element for tests, copied into a checkout as `elements/boom/boom.ts`: it fails in the way that `how` says. */
import { Type } from "typebox";
import { defineElement } from "../../elements/element.ts";

export default defineElement({
  kind: "transform",
  name: "boom",
  about: "Fails at a frame, in one of the ways in which an element can.",
  example: "graph: boom-example",
  properties: Type.Object({
    how: Type.Enum(["not", "throw", "create", "update", "timer", "reject", "close"], {
      default: "throw",
      live: true,
      description: "Which way.",
    }),
    at: Type.Integer({ default: 20, description: "Index of the frame." }),
  }),
  caps: "ANY",
  create({ how, at }) {
    if (how === "create") throw new TypeError("boom in create");
    return {
      async process(frame) {
        if (frame.index !== at) return;
        if (how === "throw") throw new RangeError(`boom at ${frame.index}`);
        if (how === "timer") setTimeout(() => explode());
        if (how === "reject") void Promise.reject(new Error("boom nobody awaits"));
      },
      update(next) {
        if (next.how === "update") throw new Error("boom in update");
        how = next.how;
      },
      close() {
        if (how === "close") throw new Error("boom in close");
      },
    };
  },
});

function explode(): never {
  throw new Error("boom in a timer");
}

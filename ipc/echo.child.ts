/** A child for the tests of this folder: does what it is asked for. */
import { Type } from "typebox";
import { connectToParent, exitWhenWritten, sayHello } from "./parent.ts";

type In = { type: "echo"; id: number; value: unknown } | { type: "count" } | { type: "leave"; code: number };
type Out = { type: "counted"; count: number } | { type: "ask"; id: number };

const [mode = "usual"] = process.argv.slice(2);
let count = 0;
const channel = connectToParent<Out, In>({
  program: "a child of a test",
  receives: Type.Union([
    Type.Object({ type: Type.Literal("echo"), id: Type.Integer(), value: Type.Union([Type.String(), Type.Number()]) }),
    Type.Object({ type: Type.Literal("count") }),
    Type.Object({ type: Type.Literal("leave"), code: Type.Integer() }),
  ]),
  droppable: ["counted"],
  onMessage(message) {
    if (message.type === "leave") void exitWhenWritten(channel, message.code);
    else for (let i = 0; i < 5; i += 1) channel.send({ type: "counted", count: ++count });
  },
  async onRequest(request) {
    if (request.type !== "echo") return null;
    if (request.value === "never") return new Promise(() => {});
    if (request.value === "ask") return channel.request({ type: "ask" }, 60_000);
    if (request.value === "fail") throw new Error("cannot read rtsp://ada:secret@camera/");
    if (request.value === "garbage") process.send?.({ type: "nonsense" });
    return request.value;
  },
});
if (mode !== "silent") sayHello(mode === "old" ? 1 : 2);
if (mode === "large") globalThis.setInterval(() => Buffer.alloc(400 * 2 ** 20, 1).at(-1), 10);
process.stderr.write("ready at rtsp://ada:secret@camera/\n");

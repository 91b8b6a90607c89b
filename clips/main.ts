/** Main of the child process: prepares the requested clip, publishes it until that fails, and exits with the server. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { CLIP_PROTOCOL, type ClipMessage, ClipRequest } from "../schemas/clip.ts";
import { maskCredentials } from "../schemas/mask.ts";
import { OWN_SCHEMAS } from "../schemas/own-schemas.ts";
import { LoopedClip, publishClip } from "./looped-clip.ts";
import { CLIP_FPS, prepareClip } from "./prepare-clip.ts";

const MOST_CHARACTERS = 2000;

if (process.send === undefined) {
  process.stderr.write("this is a part of Windhover: `windhover serve --demo` starts it\n");
  process.exit(2);
}

// Ctrl-C in a terminal reaches the whole process group; the server ends this process itself.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));

const isRequest = new Ajv2020(OWN_SCHEMAS).compile<ClipRequest>(ClipRequest);
const send = (message: ClipMessage): Promise<void> =>
  new Promise((resolve) => process.send?.(message, undefined, {}, () => resolve()));

process.once("message", (message) => {
  if (!isRequest(message)) throw new Error("invalid request from the server: it must have the same version");
  void publish(message).then(async (why) => {
    await send({ type: "over", detail: maskCredentials(why).slice(0, MOST_CHARACTERS) });
    process.exit(0);
  });
});
void send({ type: "hello", protocol: CLIP_PROTOCOL });

/** Resolves with the reason for its end. */
async function publish({ url, file }: ClipRequest): Promise<string> {
  try {
    const bytes = await prepareClip({ file, onStage: (stage) => void send({ type: "stage", stage }) });
    const clip = new LoopedClip(bytes, CLIP_FPS);
    void send({ type: "stage", stage: "connecting" });
    return await publishClip(clip, url, () => void send({ type: "stage", stage: "publishing" }));
  } catch (error) {
    return String((error as Error).message);
  }
}

/** The child's life: prepares the clip that it is told of, publishes it until it cannot, and never outlives the server. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { CLIP_PROTOCOL, type ClipMessage, ClipRequest } from "../schemas/clip.ts";
import { maskCredentials } from "../schemas/mask.ts";
import { OWN_SCHEMAS } from "../schemas/own-schemas.ts";
import { FRAMES_A_SECOND } from "./convert-clip.ts";
import { LoopedClip } from "./looped-clip.ts";
import { prepareClip } from "./prepare-clip.ts";
import { publishClip } from "./publish-clip.ts";

const MOST_CHARACTERS = 2000;

if (process.send === undefined) {
  process.stderr.write("this is a part of Windhover: `windhover serve --demo` starts it\n");
  process.exit(2);
}

// A Ctrl-C in the terminal reaches all of its processes: it is the server that ends this one.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));

const isRequest = new Ajv2020(OWN_SCHEMAS).compile<ClipRequest>(ClipRequest);
const tell = (message: ClipMessage): Promise<void> =>
  new Promise((resolve) => process.send?.(message, undefined, {}, () => resolve()));

process.once("message", (message) => {
  if (!isRequest(message)) throw new Error("the server said something that no server of this version says");
  void publish(message).then(async (why) => {
    await tell({ type: "over", detail: maskCredentials(why).slice(0, MOST_CHARACTERS) });
    process.exit(0);
  });
});
void tell({ type: "hello", protocol: CLIP_PROTOCOL });

/** Resolves with why it is over. */
async function publish({ url, file }: ClipRequest): Promise<string> {
  try {
    const bytes = await prepareClip({ file, onStage: (stage) => void tell({ type: "stage", stage }) });
    const clip = new LoopedClip(bytes, FRAMES_A_SECOND);
    void tell({ type: "stage", stage: "connecting" });
    return await publishClip(clip, url, () => void tell({ type: "stage", stage: "publishing" }));
  } catch (error) {
    return String((error as Error).message);
  }
}

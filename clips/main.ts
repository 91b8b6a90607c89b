/** Main of the child process: prepares the requested clip, publishes it until that fails, and exits with the server. */
import { connectToParent, exitWhenWritten } from "../ipc/parent.ts";
import { CLIP_PROTOCOL, type ClipMessage, ClipRequest } from "../schemas/clip.ts";
import { maskCredentials } from "../schemas/mask.ts";
import { LoopedClip, publishClip } from "./looped-clip.ts";
import { CLIP_FPS, prepareClip } from "./prepare-clip.ts";

const MOST_CHARACTERS = 2000;

const channel = connectToParent<ClipMessage, ClipRequest>({
  program: "a part of Windhover: `windhover serve --demo` starts it",
  receives: ClipRequest,
  onMessage: async (request) => {
    const reason = await publish(request);
    channel.send({ type: "over", detail: maskCredentials(reason).slice(0, MOST_CHARACTERS) });
    await exitWhenWritten(channel, 0);
  },
});
channel.send({ type: "hello", protocol: CLIP_PROTOCOL });

/** Resolves with the reason for its end. */
async function publish({ url, file }: ClipRequest): Promise<string> {
  try {
    const bytes = await prepareClip({ file, onStage: (stage) => channel.send({ type: "stage", stage }) });
    const clip = new LoopedClip(bytes, CLIP_FPS);
    channel.send({ type: "stage", stage: "connecting" });
    return await publishClip(clip, url, () => channel.send({ type: "stage", stage: "publishing" }));
  } catch (error) {
    return String((error as Error).message);
  }
}

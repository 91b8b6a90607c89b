/** Main of the child process: loads the networks, reports readiness, enhances tracks in order, and exits with the server. */
import { setPriority } from "node:os";
import { Ajv2020 } from "ajv/dist/2020.js";
import { ENHANCE_PROTOCOL, type EnhanceMessage, EnhanceRequest, type TrackToEnhance } from "../schemas/enhancement.ts";
import { OWN_SCHEMAS } from "../schemas/own-schemas.ts";
import { enhanceTrack, type Readers } from "./enhance-track.ts";
import { openPlateReader } from "./plate/plate-reader.ts";

/** Low priority: live processes come first. */
const NICE = 10;

if (process.send === undefined) {
  process.stderr.write("this is a part of Windhover: `windhover serve` starts it\n");
  process.exit(2);
}

// Ctrl-C in a terminal reaches the whole process group; the server ends this process itself.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
setPriority(NICE);

const isRequest = new Ajv2020(OWN_SCHEMAS).compile<EnhanceRequest>(EnhanceRequest);
const send = (message: EnhanceMessage): void => {
  process.send?.(message);
};

send({ type: "hello", protocol: ENHANCE_PROTOCOL, pid: process.pid });
try {
  const { readers, lacks } = await openReaders();
  let work = Promise.resolve();
  process.on("message", (message) => {
    if (!isRequest(message)) throw new Error("invalid request from the server: it must have the same version");
    work = work.then(() => enhance(message.tracks, readers));
  });
  send({ type: "ready", lacks });
} catch (error) {
  send({ type: "failed", detail: String((error as Error).message).slice(0, 2000) });
}

async function openReaders(): Promise<{ readonly readers: Readers; readonly lacks: string[] }> {
  const plates = await openPlateReader();
  if (typeof plates === "string") return { readers: {}, lacks: [`plates are not read: ${plates}`.slice(0, 2000)] };
  return { readers: { readPlate: (picture) => plates.read(picture) }, lacks: [] };
}

async function enhance(tracks: readonly TrackToEnhance[], readers: Readers): Promise<void> {
  for (const track of tracks) {
    const data = await enhanceTrack(track, readers);
    send({ type: "enhanced", track: { id: track.id, data } });
  }
}

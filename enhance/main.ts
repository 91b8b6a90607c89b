/** Main of the child process: loads the networks, reports readiness, enhances tracks in order, and exits with the server. */
import { setPriority } from "node:os";
import { connectToParent, sayHello } from "../ipc/parent.ts";
import { ENHANCE_PROTOCOL, type EnhanceMessage, EnhanceRequest, type TrackToEnhance } from "../schemas/enhancement.ts";
import { enhanceTrack, type Readers } from "./enhance-track.ts";
import { openPlateReader } from "./plate/plate-reader.ts";

/** Low priority: live processes come first. */
const NICE = 10;

let work: Promise<Readers> | undefined;
const channel = connectToParent<EnhanceMessage, EnhanceRequest>({
  program: "a part of Windhover: `windhover serve` starts it",
  receives: EnhanceRequest,
  onMessage: ({ tracks }) => {
    work = work?.then((readers) => enhance(tracks, readers));
  },
});
setPriority(NICE);

sayHello(ENHANCE_PROTOCOL);
try {
  const { readers, lacks } = await openReaders();
  work = Promise.resolve(readers);
  channel.send({ type: "ready", lacks });
} catch (error) {
  channel.send({ type: "failed", detail: String((error as Error).message).slice(0, 2000) });
}

async function openReaders(): Promise<{ readonly readers: Readers; readonly lacks: string[] }> {
  const plates = await openPlateReader();
  if (typeof plates === "string") return { readers: {}, lacks: [`plates are not read: ${plates}`.slice(0, 2000)] };
  return { readers: { readPlate: (picture) => plates.read(picture) }, lacks: [] };
}

async function enhance(tracks: readonly TrackToEnhance[], readers: Readers): Promise<Readers> {
  for (const track of tracks) {
    const data = await enhanceTrack(track, readers);
    channel.send({ type: "enhanced", track: { id: track.id, data } });
  }
  return readers;
}

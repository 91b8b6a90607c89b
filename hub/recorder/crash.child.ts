/**
 * A process that records at the pace of a publisher, to be killed. Arguments: the folder, and perhaps how large a file
 * may become. Reports over IPC how much it has recorded, `{ fedUs }`, and the messages of the recorder.
 */
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { makeClip } from "../../media/mp4/clip.fixture.ts";
import { Recorder } from "./recorder.ts";

const [folder = "", fileBytes] = process.argv.slice(2);
const clip = makeClip({ seconds: 8, gop: 60, bFrames: 2, hasAudio: true });
const send = (message: object): void => {
  process.send?.(message);
};
const recorder = new Recorder({
  recording: "one",
  path: "user/camera",
  folder,
  segmentSeconds: 600,
  reserveBytes: 0,
  readerBytes: 2 ** 24,
  notify: send,
  log: () => {},
});

if (fileBytes !== undefined) {
  // A file that grows beyond the limit cannot be written, as on a disk that is full. The signal would end the process.
  process.on("SIGXFSZ", () => {});
  execFileSync("prlimit", [`--pid=${process.pid}`, `--fsize=${fileBytes}`]);
}
recorder.setTracks(clip.tracks);
const startedAt = performance.now();
for (const unit of clip.units) {
  const earlyMs = unit.dtsUs / 1000 - (performance.now() - startedAt);
  if (earlyMs > 0 && fileBytes === undefined) await sleep(earlyMs);
  recorder.push(unit);
  if (unit.kind === "video") send({ fedUs: unit.dtsUs });
}
recorder.end();
await recorder.done;
process.disconnect?.();

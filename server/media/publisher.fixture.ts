/** ffmpeg as a publisher of a test picture or a file, in real time. */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";

const TEST_PICTURE = [
  ...["-f", "lavfi", "-i", "testsrc=size=160x120:rate=25", "-pix_fmt", "yuv420p", "-c:v", "libx264"],
  ...["-preset", "ultrafast", "-tune", "zerolatency", "-g", "12"],
];

/** 25 fps, until it is killed or this many seconds have been sent. `url` with the key. `file`: H.264, again and again. */
export function spawnPublisher(url: string, seconds = 600, file: string | null = null): ChildProcess {
  const container = url.startsWith("rtsp:") ? ["-f", "rtsp", "-rtsp_transport", "tcp"] : ["-f", "flv"];
  const publisher = spawn(
    "ffmpeg",
    [
      ...["-hide_banner", "-loglevel", "error", "-re"],
      ...(file === null ? TEST_PICTURE : ["-stream_loop", "-1", "-i", file, "-c", "copy"]),
      ...["-t", String(seconds), ...container, url],
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  publisher.stderr?.resume();
  return publisher;
}

/** Like a drone: publishes again whenever its stream breaks or is rejected, until it is stopped. */
export function keepPublishing(url: string): { end: () => void } {
  const stopping = new AbortController();
  let publisher: ChildProcess;
  const begin = () => {
    publisher = spawnPublisher(url);
    publisher.once("exit", () => {
      wait(200, undefined, { signal: stopping.signal }).then(begin, () => {});
    });
  };
  begin();
  const end = () => {
    stopping.abort();
    publisher.kill("SIGKILL");
  };
  return { end };
}

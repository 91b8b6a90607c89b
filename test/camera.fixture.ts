/** A real RTSP camera in its own process, which can be killed and frozen. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../build/camera", import.meta.url));

export interface Camera {
  readonly url: string;
  readonly process: ChildProcess;
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

interface CameraOptions {
  readonly port?: number;
  readonly file?: string;
  readonly codec?: "h264" | "h265" | "jpeg";
  /** The names of files with a unit of metadata for each frame: `unit-%05d.klv`. */
  readonly klv?: string;
  readonly fps?: number;
}

/** Streams a test picture, or a file. */
export async function startCamera({
  port = 0,
  file,
  codec = "h264",
  klv,
  fps = 30,
}: CameraOptions = {}): Promise<Camera> {
  const input = file === undefined ? ["--width", "320", "--height", "180", "--codec", codec] : ["--file", file];
  const more = klv === undefined ? [] : ["--klv", klv];
  const child = spawn(PROGRAM, ["--port", String(port), "--fps", String(fps), ...input, ...more], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  return {
    url: (JSON.parse(String(line)) as { url: string }).url,
    process: child,
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

/** An RTMP server: nginx with its RTMP module. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort, isListening } from "./ports.fixture.ts";

const PROGRAM = "/usr/sbin/nginx";
const MODULE = "/usr/lib/nginx/modules/ngx_rtmp_module.so";

/** For `skip` of a test: false, or the reason. */
export const nginxIsMissing: false | string =
  existsSync(PROGRAM) && existsSync(MODULE) ? false : "nginx and libnginx-mod-rtmp are not installed";

export interface NginxRtmp {
  readonly port: number;
  /** Folder of FLV recordings of everything that is published to the application `live`. */
  readonly recordings: string;
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
}

/** With one application, `live`. Ends with the test. */
export async function openNginx(): Promise<NginxRtmp> {
  const folder = mkdtempSync(join(tmpdir(), "windhover-nginx-"));
  const recordings = join(folder, "recordings");
  mkdirSync(recordings, { mode: 0o777 });
  const port = await findFreePort();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, describe(folder, port, recordings));
  let kill = async () => {};
  const start = async () => {
    const child = spawn(PROGRAM, ["-c", file, "-p", folder, "-e", join(folder, "start.log")], { stdio: "ignore" });
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    kill = async () => {
      child.kill("SIGKILL");
      await gone;
    };
    while (!(await isListening(port))) {
      assert.equal(child.exitCode, null, "nginx exited");
      await sleep(20);
    }
  };
  after(async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  });
  await start();
  return { port, recordings, start, kill: () => kill() };
}

/** A single process without workers, so that a kill ends everything. */
const describe = (folder: string, port: number, recordings: string): string => `
load_module ${MODULE};
daemon off;
master_process off;
pid ${folder}/pid;
error_log ${folder}/error.log info;
events { worker_connections 100; }
rtmp {
  server {
    listen 127.0.0.1:${port};
    application live { live on; wait_key on; record all; record_path ${recordings}; }
  }
}
`;

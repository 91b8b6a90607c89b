/** The compared relays: the hub without authentication, and nginx with its RTMP module. */
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CommandFailure } from "../../../cli/command.ts";
import type { HubMessage, HubPorts, HubSettings } from "../../../schemas/hub.ts";

export interface Relay {
  readonly pid: number;
  /** Addresses of the stream of that name. */
  publishUrl(name: string): string;
  playUrl(name: string): string;
  stop(): Promise<void>;
}

const HUB = fileURLToPath(new URL("../../../hub/hub.mjs", import.meta.url));
/** Where the packages were extracted, if they are not installed (`dpkg -x`): installing them starts a web server. */
const NGINX_ROOT = process.env.NGINX_ROOT ?? "";
const NGINX = `${NGINX_ROOT}/usr/sbin/nginx`;
const RTMP_MODULE = `${NGINX_ROOT}/usr/lib/nginx/modules/ngx_rtmp_module.so`;
const START_LIMIT_MS = 60_000;

interface Reply {
  readonly type: "reply";
  readonly error: { readonly detail: string } | null;
  readonly result: unknown;
}

/** `protocol` is that of the publishers; players use RTSP. */
export async function startHub(folder: string): Promise<(protocol: "rtsp" | "rtmp") => Relay> {
  const child = fork(HUB, [], { execArgv: [], serialization: "json" });
  const exited = once(child, "exit");
  const ports = await new Promise<{ rtsp: number; rtmp: number }>((resolve, reject) => {
    const timer = setTimeout(() => reject(new CommandFailure("the hub did not start in time")), START_LIMIT_MS);
    child.on("message", (message: HubMessage | Reply | { readonly type: "hello" }) => {
      if (message.type === "hello") child.send({ type: "start", id: 1, settings: makeSettings(folder) });
      if (message.type === "authorize")
        child.send({ type: "reply", id: message.id, error: null, result: { refusal: null, recording: null } });
      if (message.type !== "reply") return;
      clearTimeout(timer);
      if (message.error !== null) return reject(new CommandFailure(message.error.detail));
      const { rtspPort, rtmpPort } = message.result as HubPorts;
      resolve({ rtsp: rtspPort, rtmp: rtmpPort });
    });
  });
  return (protocol) => ({
    pid: child.pid ?? 0,
    publishUrl: (name) => `${protocol}://127.0.0.1:${ports[protocol]}/bench/${name}?api_key=none`,
    playUrl: (name) => `rtsp://127.0.0.1:${ports.rtsp}/bench/${name}?api_key=none`,
    async stop() {
      if (child.connected) child.send({ type: "stop" });
      await exited;
    },
  });
}

const makeSettings = (folder: string): HubSettings => ({
  rtsp: { host: "127.0.0.1", port: 0 },
  rtmp: { host: "127.0.0.1", port: 0 },
  srt: { host: "127.0.0.1", port: 0, latencyMs: 120, passphrase: null },
  httpSocket: join(folder, "hub.sock"),
  recordingsFolder: join(folder, "recordings"),
  untold: [],
  segmentSeconds: 600,
  reserveBytes: 0,
  webrtc: { addresses: [], portFirst: 0, portLast: 0 },
  limits: {
    publishers: 64,
    readersPerStream: 400,
    connections: 1000,
    connectionsPerAddress: 1000,
    helloMs: 10_000,
    frozenMs: 10_000,
    keylessMs: 30_000,
    stalledMs: 10_000,
    readerBytes: 8 * 2 ** 20,
    unitBytes: 8 * 2 ** 20,
    cacheBytes: 32 * 2 ** 20,
    keyBytes: 2 ** 30,
    hlsIdleMs: 30_000,
    hlsBytes: 64 * 2 ** 20,
    connectMs: 10_000,
    verdictMs: 5000,
  },
});

/** Null if it is not installed: Debian's packages `nginx` and `libnginx-mod-rtmp`. */
export async function startNginx(folder: string): Promise<Relay | null> {
  if (!existsSync(NGINX) || !existsSync(RTMP_MODULE)) return null;
  const port = await findFreePort();
  const file = join(folder, "nginx.conf");
  await writeFile(file, describe(folder, port));
  const child = spawn(NGINX, ["-c", file, "-p", folder, "-e", join(folder, "nginx.log")], { stdio: "ignore" });
  const exited = once(child, "exit");
  while (!(await isListening(port))) {
    if (child.exitCode !== null) throw new CommandFailure("nginx does not start");
    await sleep(20);
  }
  const url = (name: string) => `rtmp://127.0.0.1:${port}/live/${name}`;
  return {
    pid: child.pid ?? 0,
    publishUrl: url,
    playUrl: url,
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** One process, without recording and without waiting to merge packets. */
const describe = (folder: string, port: number): string => `
load_module ${RTMP_MODULE};
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log error;
events { worker_connections 200; }
rtmp {
  access_log off;
  server {
    listen 127.0.0.1:${port};
    chunk_size 60000;
    application live { live on; wait_key on; wait_video on; }
  }
}
`;

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== "object" || address === null) throw new CommandFailure("there is no free port");
  return address.port;
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

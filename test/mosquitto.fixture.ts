/** Debian's mosquitto: a broker that others wrote. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connectAsync, type MqttClient } from "mqtt";
import { findFreePort } from "./free-port.fixture.ts";

/** Debian keeps it where not everybody looks for programs. */
const ENVIRONMENT = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

export interface Mosquitto {
  readonly port: number;
  /** Everybody who may come in; null: all may. */
  readonly user: { readonly username: string; readonly password: string } | null;
  /** A client of its own, closed with the test. */
  connect(): Promise<MqttClient>;
  /** It is there and does nothing, until it is thawed. */
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  /** Again on the same port. */
  start(): Promise<void>;
}

export interface MosquittoOptions {
  /** With a user and a password, and nobody else comes in. */
  readonly isGuarded?: boolean;
  /** False: it runs when `start` is called. */
  readonly isStarted?: boolean;
}

/** Ends with the test. */
export async function openMosquitto({
  isGuarded = false,
  isStarted = true,
}: MosquittoOptions = {}): Promise<Mosquitto> {
  const folder = mkdtempSync(join(tmpdir(), "windhover-mosquitto-"));
  const port = await findFreePort();
  const user = isGuarded ? { username: "drone", password: "geheim:7" } : null;
  const passwords = join(folder, "passwords");
  if (user !== null) {
    const args = ["-b", "-c", passwords, user.username, user.password];
    assert.equal(spawnSync("mosquitto_passwd", args, { env: ENVIRONMENT }).status, 0, "mosquitto_passwd failed");
  }
  const file = join(folder, "mosquitto.conf");
  writeFileSync(file, describe(port, user === null ? null : passwords));
  const clients: MqttClient[] = [];
  let kill = async () => {};
  let signal = (_name: NodeJS.Signals): void => {};
  const start = async () => {
    const child = spawn("mosquitto", ["-c", file], { stdio: "ignore", env: ENVIRONMENT });
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    signal = (name) => void child.kill(name);
    kill = async () => {
      child.kill("SIGKILL");
      await gone;
    };
    while (!(await isListening(port))) {
      assert.equal(child.exitCode, null, "mosquitto does not start");
      await sleep(10);
    }
  };
  after(async () => {
    for (const client of clients) client.end(true);
    await kill();
    rmSync(folder, { recursive: true, force: true });
  });
  if (isStarted) await start();
  return {
    ...{ port, user, start },
    kill: () => kill(),
    freeze: () => signal("SIGSTOP"),
    thaw: () => signal("SIGCONT"),
    async connect() {
      const client = await connectAsync({ host: "127.0.0.1", port, ...user, reconnectPeriod: 50 });
      // While the broker is killed.
      client.on("error", () => {});
      clients.push(client);
      return client;
    },
  };
}

/** Started by root it would become somebody who cannot read the folder. */
const describe = (port: number, passwords: string | null): string => `
listener ${port} 127.0.0.1
user ${userInfo().username}
persistence false
max_queued_messages 0
log_dest none
${passwords === null ? "allow_anonymous true" : `allow_anonymous false\npassword_file ${passwords}`}
`;

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });

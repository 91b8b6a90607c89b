/** An MQTT broker: Debian's mosquitto. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connectAsync, type MqttClient } from "mqtt";
import { findFreePort, isListening } from "./ports.fixture.ts";

/** Debian installs it in /usr/sbin, which is not in every PATH. */
const ENVIRONMENT = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

export interface Mosquitto {
  readonly port: number;
  /** The only user with access; null: anonymous access. */
  readonly user: { readonly username: string; readonly password: string } | null;
  /** A new client, closed with the test. */
  connect(): Promise<MqttClient>;
  /** Stops the process (SIGSTOP) until `thaw`. */
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
}

export interface MosquittoOptions {
  /** Requires a user name and a password. */
  readonly isGuarded?: boolean;
  /** False: not before `start` is called. */
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
      assert.equal(child.exitCode, null, "mosquitto exited");
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
      // Expected while the broker is killed.
      client.on("error", () => {});
      clients.push(client);
      return client;
    },
  };
}

/** With `user`: started by root, it would switch to a user who cannot read the folder. */
const describe = (port: number, passwords: string | null): string => `
listener ${port} 127.0.0.1
user ${userInfo().username}
persistence false
max_queued_messages 0
log_dest none
${passwords === null ? "allow_anonymous true" : `allow_anonymous false\npassword_file ${passwords}`}
`;

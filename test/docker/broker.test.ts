/** The broker of the compose file with its configuration and start script, on other paths and another port. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { connectAsync } from "mqtt";
import { findFreePort } from "../ports.fixture.ts";

const FOLDER = new URL("../../docker/mosquitto/", import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, FOLDER), "utf8");

const folder = mkdtempSync(join(tmpdir(), "windhover-broker-"));
const port = await findFreePort();
for (const name of ["data", "config"]) mkdirSync(join(folder, name));
const place = (text: string): string =>
  text.replaceAll("/mosquitto/", `${folder}/`).replace("listener 1883", `listener ${port} 127.0.0.1`);
// As root, mosquitto would switch to another user; in the container it starts as that user.
const user = process.getuid?.() === 0 ? "user root\n" : "";
writeFileSync(join(folder, "config/mosquitto.conf"), user + place(read("mosquitto.conf")));
writeFileSync(join(folder, "config/start.sh"), place(read("start.sh")));

const start = (password: string): ChildProcess =>
  spawn("sh", [join(folder, "config/start.sh")], {
    env: { PATH: `${process.env.PATH}:/usr/sbin`, MOSQUITTO_PASSWORD: password },
    stdio: "ignore",
  });

test("does not start without a password", async () => {
  const [code] = await once(start(""), "exit");
  assert.notEqual(code, 0);
});

test("accepts clients with the password and rejects all others", async () => {
  const broker = start("s3same");
  after(() => {
    broker.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  const connect = async (credentials: { username?: string; password?: string }): Promise<string> => {
    for (;;) {
      try {
        const options = { ...credentials, reconnectPeriod: 0, connectTimeout: 60_000 };
        const client = await connectAsync(`mqtt://127.0.0.1:${port}`, options, false);
        await client.endAsync();
        return "connected";
      } catch (error) {
        const { code, message } = error as Error & { code?: unknown };
        assert.equal(broker.exitCode, null, `the broker ended; ${message}`);
        if (code !== "ECONNREFUSED") return message;
        await wait(50);
      }
    }
  };
  assert.equal(await connect({ username: "windhover", password: "s3same" }), "connected");
  assert.match(await connect({}), /Not authorized/i);
  assert.match(await connect({ username: "windhover", password: "sesame" }), /Not authorized/i);
  assert.equal(statSync(join(folder, "data/passwords")).mode & 0o077, 0);
});

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { CONFIG_KEYS } from "../../server/config/keys.ts";

const ROOT = new URL("../../", import.meta.url);
const unit = readFileSync(new URL("deploy/systemd/windhover.service", ROOT), "utf8");
const settingOf = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? assert.fail(name);

test("the systemd unit gives a node more time to stop than to drain, and signals only the server", () => {
  const drain = CONFIG_KEYS.find(({ name }) => name === "cluster.drain_seconds") ?? assert.fail();
  assert.ok(Number(settingOf("TimeoutStopSec")) >= Number(drain.schema.default) + 60);
  assert.equal(settingOf("KillMode"), "mixed");
});

test("the systemd unit starts a program of the repository, as a user without privileges", () => {
  const [, program = ""] = settingOf("ExecStart").split(" ");
  assert.ok(existsSync(new URL(program, ROOT)), program);
  assert.notEqual(settingOf("User"), "root");
  assert.equal(settingOf("NoNewPrivileges"), "yes");
  assert.ok(!unit.includes("\nSystemCallFilter="), "it would have to permit what the confinement of runners uses");
});

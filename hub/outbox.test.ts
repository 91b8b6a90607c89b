import assert from "node:assert/strict";
import { test } from "node:test";
import type { HubMessage } from "../schemas/hub.ts";
import { limitLog } from "./log.ts";
import { Outbox } from "./outbox.ts";

const LOG: HubMessage = { type: "log", level: "info", message: "hello" };
const VITAL: HubMessage = { type: "unpublished", path: "a/b", reason: "gone" };

test("a server that does not read costs the log, and nothing that it must know", async () => {
  const written: (() => void)[] = [];
  const types: string[] = [];
  const outbox = new Outbox((message, done) => {
    types.push(message.type);
    written.push(done);
  });
  for (let i = 0; i < 2000; i++) outbox.put(LOG);
  outbox.put(VITAL);
  assert.equal(types.length, 513);
  assert.equal(types.at(-1), "unpublished");
  const empty = outbox.empty();
  for (const done of written) {
    done();
    done();
  }
  await empty;
  outbox.put(LOG);
  assert.equal(types.length, 514);
});

test("a log that strangers fill says how much it left out, and never leaves out an error for it", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const lines: string[] = [];
  const log = limitLog((_level, message, fields) => lines.push(`${message} ${fields?.lines ?? ""}`));
  for (let i = 0; i < 250; i++) log("info", "x");
  assert.equal(lines.length, 100);
  log("error", "a fault");
  t.mock.timers.tick(1000);
  log("info", "y");
  assert.deepEqual(lines.slice(100), ["a fault ", "lines of the log were left out 150", "y "]);
});

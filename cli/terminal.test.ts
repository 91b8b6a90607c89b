import assert from "node:assert/strict";
import { test } from "node:test";
import { stalledTerminal } from "./terminal.fixture.ts";
import { MOST_UNREAD_BYTES } from "./terminal.ts";

const LINE = "x".repeat(9_999);

test("bounds what is buffered for a stalled reader of standard error, and reports the dropped lines later", async () => {
  const { terminal, reader } = stalledTerminal();
  const said = 2 * Math.ceil(MOST_UNREAD_BYTES / LINE.length);
  for (let count = 0; count < said; count++) terminal.say(LINE);
  assert.ok(terminal.unread <= MOST_UNREAD_BYTES + 2 * LINE.length, `${terminal.unread} bytes wait`);
  await reader.read();
  terminal.say("after");
  const read = reader.lines.filter((line) => line === LINE).length;
  assert.deepEqual(reader.lines.slice(-2), [
    `windhover: ${said - read} lines were dropped here: standard error was not read in time`,
    "after",
  ]);
});

test("reports dropped lines at the end, as JSON with --json", async () => {
  const { terminal, reader } = stalledTerminal();
  terminal.speakJson();
  terminal.say("x".repeat(MOST_UNREAD_BYTES + 1));
  terminal.say("lost");
  const flushed = terminal.flush();
  await reader.read();
  await flushed;
  assert.equal(reader.lines.at(-1), '{"type":"lost","lines":1}');
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEntry } from "../../native/gstreamer.ts";
import { stalledTerminal } from "../terminal.fixture.ts";
import { LogLines, MOST_WAITING_BYTES } from "./reporter.ts";

const entry = (message: string, lost = 0): LogEntry => ({
  level: "debug",
  category: "rtspsrc",
  source: "pull",
  message,
  lost,
});
const LONG = "x".repeat(10_000);
const MANY = 3 * Math.ceil(MOST_WAITING_BYTES / LONG.length);

for (const json of [false, true]) {
  const form = json ? "JSON" : "text";

  test(`as ${form}, a reader that stalls costs messages and no memory, and learns how many`, async () => {
    const { terminal, reader } = stalledTerminal();
    const lines = new LogLines(json, terminal);
    for (let count = 0; count < MANY; count++) lines.take(entry(LONG));
    assert.ok(terminal.unread < MOST_WAITING_BYTES + 2 * LONG.length, `${terminal.unread} bytes wait`);
    await reader.read();
    const before = reader.lines.length;
    lines.take(entry("after", 7));
    lines.close();
    const lost = MANY - before + 7;
    assert.equal(reader.lines.length, before + 1);
    assert.match(
      reader.lines.at(-1) ?? "",
      json ? new RegExp(`"lost":${lost}}$`) : new RegExp(`\\(${lost} lost before`),
    );
  });

  test(`as ${form}, passwords are not shown`, async () => {
    const { terminal, reader } = stalledTerminal();
    await reader.read();
    new LogLines(json, terminal).take(entry('to "rtsp://u:secret@cam/1" and rtmp://cam/live/x?token=secret'));
    assert.match(reader.text, /rtsp:\/\/\*\*\*@cam/);
    assert.doesNotMatch(reader.text, /secret/);
  });
}

test("reports messages lost before the end", async () => {
  const { terminal, reader } = stalledTerminal();
  const lines = new LogLines(false, terminal);
  lines.take(entry("x".repeat(MOST_WAITING_BYTES + 1)));
  lines.take(entry("lost"));
  lines.close();
  await reader.read();
  assert.match(reader.lines.at(-1) ?? "", /the end of the log was not read in time \(1 lost before\)/);
});

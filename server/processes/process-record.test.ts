import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pino } from "pino";
import type { ProcessRow } from "../store/processes.ts";
import { ProcessRecord, type ProcessRecordDeps, TrackIds } from "./process-record.ts";

test("the stored id is above every id that clients received, at any moment", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), fc.array(fc.integer({ min: 0, max: 400 })), (first, steps) => {
      const ids = new TrackIds(first);
      let written = ids.reserved;
      let highest = 0;
      for (const step of steps) {
        highest = ids.next + step;
        const mustWrite = ids.noteMessage({ active_tracks: [{ track_id: 1 }, { track_id: highest }] });
        if (mustWrite) written = ids.reserved;
        assert.ok(written > highest);
        assert.equal(ids.next, highest + 1);
      }
    }),
  );
});

test("messages without tracks change nothing", () => {
  const ids = new TrackIds(5);
  for (const message of [
    {},
    { active_tracks: [] },
    { active_tracks: null },
    { active_tracks: ["x"] },
    { active_tracks: [{}] },
    { tracks: 7 },
    { tracks: ["x", null] },
  ])
    assert.equal(ids.noteMessage(message), false);
  assert.equal(ids.next, 5);
});

test("ids in a track report count as received", () => {
  const ids = new TrackIds(5);
  ids.noteMessage({ tracks: [{ id: 7 }, { id: 9 }, null, {}] });
  assert.equal(ids.next, 10);
});

test("logs a line of a runner once, with its level and without passwords", () => {
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const record = new ProcessRecord({ telemetryCfg: null, lastError: null } as ProcessRow, { log } as ProcessRecordDeps);
  for (const level of ["debug", "info", "warn", "error"])
    record.handle({ type: "log", level, node: "rtsp:a/publish", message: "rtsp://u:sesame@there is unreachable" });
  assert.deepEqual(
    lines.map((line) => line.match(/"level":[^,]+/g)),
    [20, 30, 40, 50].map((level) => [`"level":${level}`]),
  );
  assert.doesNotMatch(lines.join(), /sesame/);
});

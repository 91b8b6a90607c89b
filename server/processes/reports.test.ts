import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { Reports, type ReportsDeps } from "./reports.ts";

test("logs a line of a runner once, with its level and without passwords", () => {
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const reports = new Reports({ row: { telemetryCfg: null }, log } as ReportsDeps);
  for (const level of ["debug", "info", "warn", "error"])
    reports.handle({ type: "log", level, node: "rtsp:a/publish", message: "rtsp://u:sesame@there is unreachable" });
  assert.deepEqual(
    lines.map((line) => line.match(/"level":[^,]+/g)),
    [20, 30, 40, 50].map((level) => [`"level":${level}`]),
  );
  assert.doesNotMatch(lines.join(), /sesame/);
});

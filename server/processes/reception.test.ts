import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import type { Ledger } from "./ledger.ts";
import { Reception } from "./reception.ts";

test("a line of a runner is logged once with the level that it is of, and without passwords", () => {
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const reception = new Reception({} as Ledger, log);
  for (const level of ["debug", "info", "warn", "error"])
    reception.hear({ type: "log", level, node: "rtsp:a/publish", message: "rtsp://u:sesame@there is away" });
  assert.deepEqual(
    lines.map((line) => line.match(/"level":[^,]+/g)),
    [20, 30, 40, 50].map((level) => [`"level":${level}`]),
  );
  assert.doesNotMatch(lines.join(), /sesame/);
});

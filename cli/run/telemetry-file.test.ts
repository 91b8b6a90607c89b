import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import { CommandFailure, Given, UsageFault } from "../command.ts";
import { makeFolder, windhover } from "../windhover.fixture.ts";
import { readFlight, readTelemetryOrder } from "./telemetry-file.ts";

const folder = makeFolder();
const LINE = "source uri=test:ball ! decode ! telemetry offset-ms=0 ! print keys=telemetry";
const START = 1_760_000_000;

function write(name: string, lines: readonly unknown[]): string {
  const file = join(folder, name);
  writeFileSync(file, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  return file;
}

const said = (seconds: number) => ({
  timestamp: START + seconds,
  sensor_hfov: 60,
  sensor_vfov: 34,
  camera_yaw: seconds * 10,
  camera_pitch: -30,
  camera_roll: 0,
});
const order = (file: string) => ({ file, format: "native", parameters: {} }) as const;

test("reads a flight line by line, skips empty lines and reports what it lacks", () => {
  const { samples, lack } = readFlight(order(write("lines.ndjson", [said(0), "", said(0.5), "\r", said(1), ""])));
  assert.deepEqual(
    samples.map(({ timeMs, receivedMs }) => [timeMs, receivedMs]),
    [0, 500, 1000].map((ms) => [START * 1000 + ms, null]),
  );
  assert.match(lack ?? "", /no latitude/);
});

for (const [what, lines, expected] of [
  [
    "a message that is none",
    [said(0), "", { ...said(1), latitude: 91 }],
    /bad\.ndjson:3: .*\n {2}\/latitude is 91; expected a number from -90 to 90/,
  ],
  ["a line that is not JSON", [said(0), "{", said(1)], /bad\.ndjson:2: .*not valid JSON/],
  ["a file whose only line is cut off", ["{"], /bad\.ndjson:1: .*not valid JSON/],
  ["a file without messages", ["", " "], /has no messages/],
] as const) {
  test(`rejects ${what} with its position`, () => {
    const file = write("bad.ndjson", lines);
    assert.throws(
      () => readFlight(order(file)),
      (error: unknown) => error instanceof CommandFailure && expected.test(error.message),
    );
  });
}

test("reads an incomplete recording, and accepts a byte order mark", () => {
  const { samples, cut } = readFlight(
    order(write("cut.ndjson", [`\uFEFF${JSON.stringify(said(0))}`, said(1), '{"times', ""])),
  );
  assert.equal(samples.length, 2);
  assert.match(cut ?? "", /cut\.ndjson:3: .*skipped/);
  assert.equal(readFlight(order(write("whole.ndjson", [said(0), ""]))).cut, null);
});

test("a file that is not there is missed, with one that is meant", () => {
  write("flight.ndjson", [said(0)]);
  assert.throws(
    () => readFlight(order(join(folder, "flihgt.ndjson"))),
    /there is no file .*did you mean .*flight\.ndjson/,
  );
  assert.throws(() => readFlight(order(folder)), CommandFailure);
});

test("a format and its settings are read", () => {
  const read = (format: string) => readTelemetryOrder(new Given([], { telemetry: "f", "telemetry-format": format }));
  assert.deepEqual(read("vendor_a:sensor_hfov=71.5,sensor_vfov=44,gimbal_yaw_frame=body"), {
    file: "f",
    format: "vendor_a",
    parameters: { sensor_hfov: 71.5, sensor_vfov: 44, gimbal_yaw_frame: "body" },
  });
  assert.equal(readTelemetryOrder(new Given([], { telemetry: "f" }))?.format, "native");
  assert.equal(readTelemetryOrder(new Given([], {})), null);
});

for (const [given, expected] of [
  [{ "telemetry-format": "native" }, /needs --telemetry FILE/],
  [{ telemetry: "f", "telemetry-format": "vendor-a" }, /expected native or vendor_a or dji_srt.*did you mean/],
  [{ telemetry: "f", "telemetry-format": "vendor_a:hfov=7" }, /no setting "hfov"/],
  [{ telemetry: "f", "telemetry-format": "vendor_a:sensor_hfov=wide" }, /expected degrees/],
  [{ telemetry: "f", "telemetry-format": "vendor_a:gimbal_yaw_frame=south" }, /expected north or body/],
] as const) {
  test(`rejects ${JSON.stringify(given)}`, () =>
    assert.throws(
      () => readTelemetryOrder(new Given([], given)),
      (error: unknown) => error instanceof UsageFault && expected.test(error.message),
    ));
}

test("a run joins the flight to its frames, the same every time", async () => {
  const file = write("run.ndjson", [said(0), said(0.5), said(1)]);
  const run = () => windhover(["launch", LINE, "--frames", "11", "--telemetry", file]);
  const [first, again] = await Promise.all([run(), run()]);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stderr, /telemetry: The messages have no latitude/);
  const telemetry = first.lines.map((line) => (JSON.parse(line) as { telemetry: FrameTelemetry }).telemetry);
  assert.deepEqual(
    telemetry.map(({ attitude }) => Math.round((attitude?.yaw ?? Number.NaN) * 1000) / 1000),
    Array.from({ length: 11 }, (_, frame) => Math.round(frame * 400) / 1000),
  );
  assert.equal(again.stdout, first.stdout);
});

test("rejects a bad line and a graph without telemetry before the run", async () => {
  const bad = write("refused.ndjson", [said(0), "nonsense", said(1)]);
  const [line, graph] = await Promise.all([
    windhover(["launch", LINE, "--frames", "1", "--telemetry", bad]),
    windhover(["launch", "source uri=test:ball ! decode ! print", "--frames", "1", "--telemetry", bad]),
  ]);
  assert.deepEqual([line.code, line.stdout], [1, ""]);
  assert.match(line.stderr, /refused\.ndjson:2:/);
  assert.deepEqual([graph.code, graph.stdout], [2, ""]);
  assert.match(graph.stderr, /--telemetry needs the element `telemetry`/);
});

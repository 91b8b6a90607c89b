import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { withoutModel } from "../../../test/golden/golden.fixture.ts";
import { paintStreet } from "../../../test/golden/street.fixture.ts";
import { until } from "../../../test/watch.fixture.ts";
import { makeFolder, start, windhover } from "../../windhover.fixture.ts";
import { expectComplete, expectTracks } from "./trace.fixture.ts";
import type { TraceEvent } from "./trace-events.ts";

const skip = await withoutModel("default");
const folder = makeFolder();
const LINE = "source uri=test:ball?width=64&height=48 ! decode ! stage ! print";

/** The Trace Event Format, as far as it is used here: docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. */
const number = { type: "number" };
const text = { type: "string" };
const frame = { type: "object", required: ["pts_ms"], properties: { pts_ms: { type: ["number", "null"] } } };
const event = (ph: string, required: readonly string[], rest: object) => ({
  type: "object",
  required: ["name", "ph", "pid", ...required],
  properties: { name: text, ph: { const: ph }, pid: { type: "integer" }, tid: { type: "integer" }, ...rest },
  unevaluatedProperties: false,
});
const at = { cat: text, ts: { type: "number", minimum: 0 }, args: frame };
const asynchronous = { ...at, id: { type: "integer" } };
const FORMAT = {
  type: "object",
  required: ["traceEvents"],
  properties: {
    otherData: { type: "object", additionalProperties: text },
    traceEvents: {
      type: "array",
      items: {
        anyOf: [
          event("M", ["tid", "args"], {
            name: { enum: ["process_name", "thread_name", "thread_sort_index"] },
            args: { type: "object", properties: { name: text, sort_index: number } },
          }),
          event("X", ["tid", "ts", "dur"], { ...at, dur: { type: "number", minimum: 0 } }),
          event("i", ["tid", "ts", "s"], { ...at, s: { enum: ["t", "p", "g"] } }),
          event("b", ["ts", "id", "cat"], asynchronous),
          event("e", ["ts", "id", "cat"], asynchronous),
          event("C", ["ts", "args"], { ts: number, args: { type: "object", additionalProperties: number } }),
        ],
      },
    },
  },
  additionalProperties: false,
};
const validate = new Ajv2020({ strict: true, allowUnionTypes: true, strictTypes: false }).compile(FORMAT);

function readTrace(file: string): readonly TraceEvent[] {
  const trace: unknown = JSON.parse(readFileSync(file, "utf8"));
  assert.ok(validate(trace), JSON.stringify(validate.errors?.slice(0, 3)));
  return (trace as { readonly traceEvents: readonly TraceEvent[] }).traceEvents;
}

test("--trace writes a slice of every frame in every step, and the level of queues", async () => {
  const { code, stderr } = await windhover(["launch", LINE, "--frames", "50", "--trace", "all.json"], folder);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^written: all\.json, \d+ slices, \d+ kB, open it in https:\/\/ui\.perfetto\.dev$/m);
  const events = readTrace(join(folder, "all.json"));
  const count = (ph: string, name: string) => events.filter((one) => one.ph === ph && one.name === name).length;
  const found = [count("X", "print"), count("b", "stage"), count("e", "stage"), count("C", "stage level")];
  assert.deepEqual(found, [50, 50, 50, 50]);
  expectTracks(events);
  expectComplete(events);
});

test("the inference thread has a track, within the time of the detector", { skip }, async () => {
  paintStreet(join(folder, "street.y4m"), 5);
  const { code, stderr } = await windhover(["run", "detect", "street.y4m", "--trace", "inference.json", "-q"], folder);
  assert.equal(code, 0, stderr);
  const events = readTrace(join(folder, "inference.json"));
  expectTracks(events);
  expectComplete(events);
  const slicesOf = (name: string) => events.flatMap((one) => (one.ph === "X" && one.name === name ? [one] : []));
  const inferences = slicesOf("detect inference");
  assert.equal(inferences.length, 5);
  for (const { ts, dur, args } of inferences) {
    const frame = slicesOf("detect").find((slice) => slice.args.pts_ms === args.pts_ms) ?? assert.fail();
    assert.ok(frame.ts <= ts && ts + dur <= frame.ts + frame.dur + 1e-3, JSON.stringify({ frame, ts, dur }));
  }
});

test("the file is complete when the command is killed, and after Ctrl-C", async () => {
  const file = join(folder, "cut.json");
  const words = ["launch", LINE, "--pace", "realtime", "--trace", "cut.json"];
  const killed = start(words, folder);
  await until(() => existsSync(file) && readFileSync(file, "utf8").includes('"ph":"X"'));
  killed.child.kill("SIGKILL");
  await killed.done;
  assert.ok(readTrace(file).some(({ ph }) => ph === "X"));

  const stopped = start(words, folder);
  await stopped.until(({ printed }) => printed >= 5);
  stopped.child.kill("SIGINT");
  const { code, lines, stderr } = await stopped.done;
  assert.equal(code, 0, stderr);
  const printed = readTrace(file).filter(({ ph, name }) => ph === "X" && name === "print");
  assert.equal(printed.length, lines.length);
});

test("a trace has an end: the run continues without it", async () => {
  const line = "videotestsrc num-buffers=12000 ! video/x-raw,width=16,height=16 ! fakesink";
  const { code, stderr } = await windhover(["launch", line, "--trace", "long.json", "--json"], folder);
  assert.equal(code, 0, stderr);
  const records = stderr.split("\n").flatMap((one) => (one.startsWith("{") ? [JSON.parse(one)] : []));
  const { full, lost } = records.find(({ type }) => type === "written") ?? assert.fail(stderr);
  assert.equal(full, true);
  const moments = readTrace(join(folder, "long.json")).filter(({ ph, name }) => ph === "i" && name === "fakesink");
  assert.ok(moments.length > 0 && moments.length < 15_000, `${moments.length}, ${lost} lost`);
  assert.equal(records.find(({ type }) => type === "summary")?.frames, 12_000);
});

test("rejects a trace in a missing folder before the run", async () => {
  const { code, stdout, stderr } = await windhover(["launch", LINE, "--trace", "no/a.json"], folder);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
  assert.match(stderr, /--trace no\/a\.json: there is no folder no; create it first/);
});

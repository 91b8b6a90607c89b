import assert from "node:assert/strict";
import { test } from "node:test";
import type { Timeline } from "../../../client/client.ts";
import { countTracks, matches, NO_FILTER, nextRecorded, processIn, rangeAt, readHistory, stepMark } from "./history.ts";

const at = (second: number): string => new Date(1_700_000_000_000 + second * 1000).toISOString();
const ms = (second: number): number => 1_700_000_000_000 + second * 1000;

const notice = (uuid: string, second: number, more: object = {}): Timeline["notices"][number] => ({
  ...{ uuid, alert_uuid: "gate", alias: "Gate", process_uuid: "new", at: at(second), event: "triggered" },
  ...{ classes: ["person"], reviewed: false, ...more },
});

const history = readHistory({
  ...{ source_uuid: "camera", from: at(0), to: at(100), resolution_seconds: 1, tracks: [], truncated: [] },
  recorded: [
    { from: at(10), to: at(20) },
    { from: at(50), to: at(60) },
  ],
  processes: [
    { process_uuid: "new", from: at(40), to: null, state: "running" },
    { process_uuid: "old", from: at(5), to: at(45), state: "finished" },
  ],
  activity: [
    { class_name: "car", from: at(11), to: at(12), tracks: 2 },
    { class_name: "person", from: at(11), to: at(15), tracks: 1 },
    { class_name: "person", from: at(17), to: at(18), tracks: 4 },
  ],
  notices: [
    notice("a", 11),
    notice("b", 12, { classes: ["car"], reviewed: true }),
    notice("c", 12, { alert_uuid: "yard" }),
    notice("d", 55),
  ],
});
const { marks, recorded, processes } = history;

test("steps to the next and the previous notice, by the selected one or by the time", () => {
  assert.equal(stepMark(marks, { uuid: null, atMs: ms(11.5) }, 1)?.uuid, "b");
  assert.equal(stepMark(marks, { uuid: "b", atMs: ms(0) }, 1)?.uuid, "c", "at the same time");
  assert.equal(stepMark(marks, { uuid: "b", atMs: ms(99) }, -1)?.uuid, "a");
  assert.equal(stepMark(marks, { uuid: "d", atMs: ms(0) }, 1), null);
  assert.equal(stepMark(marks, { uuid: null, atMs: ms(99) }, -1)?.uuid, "d");
});

test("filters by class, alert and review", () => {
  const uuids = (filter: object) =>
    marks.filter((mark) => matches({ ...NO_FILTER, ...filter }, mark)).map(({ uuid }) => uuid);
  assert.deepEqual(uuids({}), ["a", "b", "c", "d"]);
  assert.deepEqual(uuids({ className: "car" }), ["b"]);
  assert.deepEqual(uuids({ alertUuid: "yard" }), ["c"]);
  assert.deepEqual(uuids({ reviewed: "false", className: "person" }), ["a", "c", "d"]);
});

test("finds recorded times, skips gaps, and chooses the newest process", () => {
  assert.deepEqual(rangeAt(recorded, ms(10)), { fromMs: ms(10), toMs: ms(20) });
  assert.equal(rangeAt(recorded, ms(20)), null);
  assert.deepEqual(
    [ms(0), ms(15), ms(30), ms(60)].map((time) => nextRecorded(recorded, time)),
    [ms(10), ms(15), ms(50), null],
  );
  assert.deepEqual(
    [ms(1), ms(20), ms(42), ms(80)].map((time) => processIn(processes, { fromMs: time, toMs: time + 1 })),
    [null, "old", "new", "new"],
  );
  assert.deepEqual(countTracks(history.activity), [
    ["person", 5],
    ["car", 2],
  ]);
});

test("times of a file are seconds", () => {
  const file = readHistory({
    ...{
      source_uuid: "file",
      from: 0,
      to: 90.5,
      recorded: [{ from: 0, to: 90.5 }],
      processes: [],
      resolution_seconds: 1,
    },
    ...{ activity: [], tracks: [], notices: [notice("a", 0, { at: 30.25 })], truncated: [] },
  });
  assert.deepEqual([file.toMs, file.marks[0]?.atMs], [90_500, 30_250]);
});

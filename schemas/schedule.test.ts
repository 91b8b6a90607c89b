import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSchedule, Opening, type Schedule } from "./schedule.ts";

const MINUTE_MS = 60_000;

const schedule = (time_zone: string, from: string, to: string, days?: readonly string[]): Schedule =>
  ({ time_zone, windows: [{ from, to, ...(days !== undefined && { days }) }] }) as Schedule;

/** The stretches between two times, to the minute, in which it is open. */
function listOpen(given: Schedule, from: string, to: string): readonly string[] {
  const opening = new Opening(given);
  const stretches: string[] = [];
  const show = (ms: number) => new Date(ms).toISOString().slice(5, 16);
  let since: number | null = null;
  const endMs = Date.parse(to);
  for (let ms = Date.parse(from); ms <= endMs; ms += MINUTE_MS) {
    const isOpen = ms < endMs && opening.isOpen(ms);
    if (isOpen) since ??= ms;
    else if (since !== null) {
      stretches.push(`${show(since)} to ${show(ms)}`);
      since = null;
    }
  }
  return stretches;
}

const CASES: readonly {
  readonly name: string;
  readonly given: Schedule;
  readonly from: string;
  readonly to: string;
  readonly open: readonly string[];
}[] = [
  {
    name: "Berlin, spring: the night is an hour shorter",
    given: schedule("Europe/Berlin", "22:00", "06:00", ["sat"]),
    ...{ from: "2026-03-28T00:00Z", to: "2026-03-30T00:00Z", open: ["03-28T21:00 to 03-29T04:00"] },
  },
  {
    name: "Berlin, autumn: the night is an hour longer",
    given: schedule("Europe/Berlin", "22:00", "06:00", ["sat"]),
    ...{ from: "2026-10-24T00:00Z", to: "2026-10-26T00:00Z", open: ["10-24T20:00 to 10-25T05:00"] },
  },
  {
    name: "Berlin, spring: a window within the skipped hour never opens",
    given: schedule("Europe/Berlin", "02:00", "03:00"),
    ...{ from: "2026-03-28T12:00Z", to: "2026-03-29T12:00Z", open: [] },
  },
  {
    name: "Berlin, spring: of a window that reaches out of the skipped hour the rest is open",
    given: schedule("Europe/Berlin", "02:30", "04:00"),
    ...{ from: "2026-03-28T12:00Z", to: "2026-03-29T12:00Z", open: ["03-29T01:00 to 03-29T02:00"] },
  },
  {
    name: "Berlin, autumn: a window within the repeated hour opens both times",
    given: schedule("Europe/Berlin", "02:15", "02:45"),
    ...{ from: "2026-10-24T12:00Z", to: "2026-10-25T12:00Z" },
    open: ["10-25T00:15 to 10-25T00:45", "10-25T01:15 to 10-25T01:45"],
  },
  {
    name: "New York, spring",
    given: schedule("America/New_York", "01:30", "03:30"),
    ...{ from: "2026-03-08T00:00Z", to: "2026-03-08T12:00Z", open: ["03-08T06:30 to 03-08T07:30"] },
  },
  {
    name: "New York, autumn: both passes of the hour from one to two",
    given: schedule("America/New_York", "01:00", "02:00"),
    ...{ from: "2026-11-01T00:00Z", to: "2026-11-01T12:00Z", open: ["11-01T05:00 to 11-01T07:00"] },
  },
  {
    name: "Lord Howe, spring: the clock skips half an hour",
    given: schedule("Australia/Lord_Howe", "01:00", "03:00"),
    ...{ from: "2026-10-03T12:00Z", to: "2026-10-04T00:00Z", open: ["10-03T14:30 to 10-03T16:00"] },
  },
  {
    name: "Lord Howe, autumn: the clock repeats half an hour",
    given: schedule("Australia/Lord_Howe", "01:00", "03:00"),
    ...{ from: "2026-04-04T12:00Z", to: "2026-04-05T00:00Z", open: ["04-04T14:00 to 04-04T16:30"] },
  },
  {
    name: "Kolkata has no daylight saving, and half an hour of offset",
    given: schedule("Asia/Kolkata", "09:00", "17:30", ["mon"]),
    ...{ from: "2026-03-28T00:00Z", to: "2026-04-02T00:00Z", open: ["03-30T03:30 to 03-30T12:00"] },
  },
  {
    name: "a window across midnight belongs to the day on which it begins",
    given: schedule("UTC", "22:00", "06:00", ["fri"]),
    ...{ from: "2026-05-13T00:00Z", to: "2026-05-18T00:00Z", open: ["05-15T22:00 to 05-16T06:00"] },
  },
  {
    name: "a whole day ends at midnight",
    given: schedule("UTC", "00:00", "24:00", ["sat", "sun"]),
    ...{ from: "2026-05-13T00:00Z", to: "2026-05-20T00:00Z", open: ["05-16T00:00 to 05-18T00:00"] },
  },
  {
    name: "to midnight is the same as to 24:00",
    given: schedule("UTC", "20:00", "00:00", ["sun"]),
    ...{ from: "2026-05-16T00:00Z", to: "2026-05-20T00:00Z", open: ["05-17T20:00 to 05-18T00:00"] },
  },
];

for (const { name, given, from, to, open } of CASES)
  test(name, () => {
    assert.deepEqual(listOpen(given, from, to), open);
    assert.deepEqual(checkSchedule(given), []);
  });

test("windows add up, and the time may go back", () => {
  const opening = new Opening({
    time_zone: "UTC",
    windows: [
      { from: "08:00", to: "09:00" },
      { from: "08:30", to: "10:00" },
    ],
  });
  const at = (text: string) => opening.isOpen(Date.parse(`2026-05-16T${text}Z`));
  const times = ["07:59:59.999", "08:00:00", "09:30:00", "09:59:59.999", "10:00:00", "08:59:00"];
  assert.deepEqual(times.map(at), [false, true, true, true, false, true]);
});

test("rejects unknown time zones with a suggestion, offsets, and empty windows", () => {
  const message = (zone: string) => checkSchedule(schedule(zone, "08:00", "09:00"))[0]?.message ?? "";
  assert.match(message("Europe/Berln"), /did you mean "Europe\/Berlin"\?$/);
  assert.match(message("Berlin"), /did you mean "Europe\/Berlin"\?$/);
  assert.match(message("new york"), /did you mean "America\/New_York"\?$/);
  assert.match(message("+02:00"), /is not an IANA time zone/);
  assert.match(message("Mars/Olympus_Mons"), /such as Europe\/Berlin or UTC$/);
  assert.deepEqual(checkSchedule(schedule("UTC", "08:00", "08:00")), [
    { path: "/windows/0/to", message: 'is the same as from; for a whole day use "00:00" to "24:00"' },
  ]);
});

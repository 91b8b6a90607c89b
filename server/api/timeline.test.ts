import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Timeline } from "../../schemas/api/timeline.ts";
import { addDays } from "../../tools/bench/review/add-days.ts";
import { addSource, addUser } from "../processes/supervisor.fixture.ts";
import { testDatabase } from "../store/database.fixture.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { openApp } from "./app.fixture.ts";
import { timelineEndpoints } from "./timeline.ts";

/** `TIMELINE_DAYS=100` measures what a full database answers. */
const { TIMELINE_DAYS } = process.env;
const DAYS = Number(TIMELINE_DAYS ?? 2);
const MEASURED = TIMELINE_DAYS === undefined ? 1 : 10;
const DAY_MS = 86_400_000;
const BEGAN_MS = Date.UTC(2026, 4, 17);

const database = await testDatabase();
const { sql } = database;
const user = await addUser(sql);
const other = await addUser(sql);
const users = new Map<string, User>([user, other].map((one) => [one.username, one]));
const app = await openApp(timelineEndpoints(sql), { authenticate: async (key) => users.get(key ?? "") ?? user });
after(async () => {
  await app.close(1000);
  await database.close();
});
const source = await addSource(sql, user);
const processUuid = await addDays(sql, {
  ...{ userUuid: user.uuid, sourceUuid: source, from: new Date(BEGAN_MS), days: DAYS },
  ...{ tracks: 5000, notices: 1000, segments: 144 },
});

const call = async (path: string, key = user.username) => {
  const response = await app.call(path, { headers: { api_key: key } });
  return { status: response.status, body: (await response.json()) as Timeline & { code?: string; detail?: string } };
};
const read = async (uuid: string, query: string): Promise<Timeline> => {
  const { status, body } = await call(`/source/${uuid}/timeline${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
const range = (fromMs: number, toMs: number): string =>
  `?from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`;

test("a dense day is small: recorded ranges, activity by class, notices", async (t) => {
  const beganMs = BEGAN_MS + (DAYS >> 1) * DAY_MS;
  const times: number[] = [];
  let day = await read(source, range(beganMs, beganMs + DAY_MS));
  for (let i = 0; i < MEASURED; i += 1) {
    const startedMs = performance.now();
    day = await read(source, range(beganMs, beganMs + DAY_MS));
    times.push(performance.now() - startedMs);
  }
  const bytes = JSON.stringify(day).length;
  t.diagnostic(
    `${DAYS} days stored, one day of them: ${times.sort((a, b) => a - b)[MEASURED >> 1]?.toFixed(1)} ms (median of ${MEASURED}), ${bytes} bytes`,
  );
  const noonMs = beganMs + DAY_MS / 2;
  assert.deepEqual(day.recorded, [
    { from: new Date(beganMs).toISOString(), to: new Date(noonMs + 1000).toISOString() },
    { from: new Date(noonMs + 600_000).toISOString(), to: new Date(beganMs + DAY_MS).toISOString() },
  ]);
  assert.deepEqual(
    day.processes.map(({ process_uuid, state }) => [process_uuid, state]),
    [[processUuid, "finished"]],
  );
  assert.deepEqual([...new Set(day.activity.map(({ class_name }) => class_name))], ["car", "person", "truck"]);
  // The last track of the day before ends in it.
  assert.equal(
    day.activity.reduce((sum, { tracks }) => sum + tracks, 0),
    5001,
  );
  assert.deepEqual([day.tracks, day.truncated], [[], ["tracks"]]);
  assert.equal(day.notices.length, 1000);
  const [first] = day.notices;
  assert.deepEqual(
    [first?.alias, first?.event, first?.classes, first?.reviewed, first?.process_uuid],
    ["Person at the gate", "triggered", ["person"], false, processUuid],
  );
  assert.equal(first?.at, new Date(beganMs + 43_200).toISOString());
  assert.ok(bytes < 500_000, `${bytes} bytes`);
});

test("a shorter range lists the tracks, also those that began before it", async () => {
  const fromMs = BEGAN_MS + 3_600_010;
  const hour = await read(source, range(fromMs, fromMs + 60_000));
  assert.deepEqual(hour.truncated, []);
  const [first] = hour.tracks;
  assert.equal(first?.from, new Date(fromMs).toISOString(), "cut at the start of the range");
  assert.equal(
    hour.tracks.length,
    hour.activity.reduce((sum, { tracks }) => sum + tracks, 0),
  );
  assert.ok(hour.tracks.every(({ from, to }) => from <= to && to <= hour.to));
  const lengthy = await sql`
    insert into tracks (process_uuid, track_id, class_id, class_name, first_seen, last_seen, sightings, best_confidence,
      mean_confidence, least_confidence, box, is_live)
    values (${processUuid}, 10000000, 0, 'dog', ${new Date(BEGAN_MS)}, ${new Date(BEGAN_MS + 3 * 3_600_000)}, 1, 1, 1, 1, '[]', false)`;
  assert.equal(lengthy.count, 1);
  const names = (await read(source, range(fromMs, fromMs + 60_000))).tracks.map(({ class_name }) => class_name);
  assert.ok(names.includes("dog"), "a parked object is found hours later");
  await sql`delete from tracks where track_id = 10000000`;
});

test("times of a file are seconds of the video, for every process on it", async () => {
  const file = newUuid();
  await sql`
    insert into sources (uuid, user_uuid, alias, type, input_url, identity, file_name, duration_ms)
    values (${file}, ${user.uuid}, 'Campus', 'file', ${sql.typed.sealed("campus.mp4")}, ${sql.typed.sealed(file)}, 'x', 90000)`;
  const add = (beganMs: number) =>
    addDays(sql, {
      ...{ userUuid: user.uuid, sourceUuid: file, from: new Date(beganMs), days: 1 },
      ...{ tracks: 2880, notices: 1440, segments: 1 },
    });
  const uuids = [await add(BEGAN_MS), await add(BEGAN_MS + 10 * DAY_MS)];
  await sql`delete from recordings where source_uuid = ${file}`;
  const whole = await read(file, "");
  assert.deepEqual([whole.from, whole.to, whole.recorded], [0, 90, [{ from: 0, to: 90 }]]);
  assert.deepEqual(
    whole.processes.map(({ process_uuid, from }) => [process_uuid, from]).reverse(),
    uuids.map((uuid) => [uuid, 0]),
  );
  assert.deepEqual(
    whole.tracks.map(({ from }) => from),
    [0, 0, 30, 30, 60, 60],
  );
  assert.deepEqual(
    whole.notices.map(({ at }) => at),
    [30, 30],
  );
  const part = await read(file, "?from=31.5&to=61");
  assert.deepEqual(
    part.tracks.map(({ from, to }) => [from, to]),
    [
      [31.5, 50],
      [31.5, 50],
      [60, 61],
      [60, 61],
    ],
  );
  assert.deepEqual([part.recorded, part.notices], [[{ from: 31.5, to: 61 }], []]);
  const { status, body } = await call(`/source/${file}/timeline?from=2026-05-17`);
  assert.deepEqual([status, body.code], [422, "invalid_input"]);
  assert.match(body.detail ?? "", /from .*expected seconds/);
});

test("rejects a wrong range, and what is another's", async () => {
  for (const query of ["?from=2026-05-18&to=2026-05-17", "?from=2026-05-01&to=2026-05-17", "?from=5&to=9", "?from=x"]) {
    const { status, body } = await call(`/source/${source}/timeline${query}`);
    assert.deepEqual([status, body.code], [422, "invalid_input"], query);
  }
  for (const [uuid, key] of [
    [source, other.username],
    [newUuid(), user.username],
  ] as const) {
    const { status, body } = await call(`/source/${uuid}/timeline`, key);
    assert.deepEqual([status, body.code], [404, "source_not_found"]);
  }
});

test("what is left of a deleted source is found", async () => {
  await sql`delete from sources where uuid = ${source}`;
  const day = await read(source, range(BEGAN_MS, BEGAN_MS + DAY_MS));
  assert.equal(day.notices.length, 1000);
  assert.equal(day.recorded.length, 2);
});

test("the last seconds of a stream that is not recorded are not shown as recorded", async () => {
  await sql`update recordings set is_ring = true where source_uuid = ${source}`;
  assert.deepEqual((await read(source, range(BEGAN_MS, BEGAN_MS + DAY_MS))).recorded, []);
});

/** Listings: pages, filters and orders of the real service on a large database. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connectClient, type Sql } from "../../server/store/client.ts";
import { DATABASE_LIMITS, silentLog, testPostgres } from "../../server/store/database.fixture.ts";
import { readDatabaseUrl } from "../../server/store/database.ts";
import { TEST_SECRETS, testKeyring } from "../../server/store/sealing/test-key.fixture.ts";
import { newUuid } from "../../server/uuid.ts";
import { type Filled, fillListings } from "../../tools/bench/listing/fill.ts";
import { requestsOf } from "../../tools/bench/listing.ts";
import { TestService } from "./service.fixture.ts";

const SIZE = {
  ...{ sources: 150, processes: 2_000, notices: 8_000, registered: 60 },
  ...{ recordings: 600, clips: 600, tracks: 200, patchBytes: 100 },
};
/** Larger than a page, with rows of other users. */
const LARGE = "processes|notices|notice_classes|evidence|recordings|recording_segments|tracks|track_points|clips";

let postgres: Awaited<ReturnType<typeof testPostgres>>;
let service: TestService;
let sql: Sql;
let filled: Filled;

before(async () => {
  postgres = await testPostgres();
  // Every session of the service reports its plans as notices, which it logs.
  const explained = new URLSearchParams({
    session_preload_libraries: "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_level": "notice",
  });
  service = await TestService.start({
    env: {
      DATABASE_URL: `${postgres.url}&${explained}`,
      WINDHOVER_SECRETS_KEY: TEST_SECRETS.key ?? "",
      WINDHOVER_LOG_LEVEL: "debug",
    },
  });
  sql = connectClient(readDatabaseUrl(postgres.url), DATABASE_LIMITS, silentLog, testKeyring);
  const [owner] = await sql<{ uuid: string }[]>`select uuid from users`;
  const neighbour = newUuid();
  await sql`
    insert into users (uuid, username, product, key_id, key_sha256, has_track_logger, has_recording, has_enhancement, is_graph_author)
    values (${neighbour}, 'neighbour', 'test', 'neighbour', sha256('neighbour'), true, false, false, false)`;
  await fillListings(sql, neighbour, SIZE);
  filled = await fillListings(sql, owner?.uuid ?? assert.fail(), SIZE);
});
after(async () => {
  await sql?.end();
  await service?.close();
  await postgres?.close();
});

type Rows = readonly Readonly<Record<string, unknown>>[];

async function list(path: string): Promise<{ readonly rows: Rows; readonly next: string | undefined }> {
  const { next_cursor, ...body } = await service.expect<Record<string, unknown>>(200, "GET", path);
  const rows = Object.values(body).find(Array.isArray) as Rows;
  return { rows, next: next_cursor as string | undefined };
}

/** All pages of a listing, one after the other. */
async function walk(path: string, limit: number): Promise<Rows> {
  const all: Rows[number][] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const { rows, next }: Awaited<ReturnType<typeof list>> = await list(
      `${path}&limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    all.push(...rows);
    cursor = next;
  }
  return all;
}

test("no listing reads a large table from end to end", async () => {
  const beganAt = service.serving.stderr.length;
  for (const request of requestsOf(filled)) {
    const { next } = await list(`${request}&limit=100`);
    if (next !== undefined) await list(`${request}&limit=100&cursor=${next}`);
  }
  const plans = service.serving.stderr
    .slice(beganAt)
    .split("\n")
    .filter((line) => line.includes("Query Text"))
    .map((line) => (JSON.parse(line) as { notice: string }).notice)
    .filter((plan) => /(user|process)_uuid = \$/.test(plan));
  assert.ok(plans.length > requestsOf(filled).length, `${plans.length} plans`);
  const scanned = plans.filter((plan) => new RegExp(`Seq Scan on (${LARGE})\\b`).test(plan));
  assert.deepEqual(scanned, []);
});

/** The rows in an order, and a value of them that the order is by. */
const ORDERS: readonly (readonly [path: string, sort: string, field: string])[] = [
  ["/sources?", "created_at", "created_at"],
  ["/sources?type=file", "alias", "alias"],
  ["/processes?state=failed", "created_at", "started_at"],
  ["/processes?state=all&graph=count", "finished_at", "finished_at"],
  ["/tracked_processes?source_uuid=SOURCE", "finished_at", "finished_at"],
  ["/outputs?", "alias", "alias"],
  ["/outputs?type=rtmp", "created_at", "created_at"],
  ["/alerts?status=inactive", "alias", "alias"],
  ["/sources/recordings?source_uuid=SOURCE", "started_at", "started_at"],
  ["/sources/recordings?until=MIDDLE", "alias", "alias"],
  ["/clips?state=failed", "created_at", "created_at"],
  ["/notices?class=dog", "timestamp", "timestamp"],
  ["/notices?evidence=failed&class=dog", "timestamp", "timestamp"],
  ["/notices?evidence=failed", "timestamp", "timestamp"],
  ["/graphs?", "name", "name"],
  ["/process/PROCESS/tracks?", "track_id", "track_id"],
];

for (const [template, sort, field] of ORDERS)
  test(`GET ${template} sorted by ${sort} has the same entries in pages of any size, in both directions`, async () => {
    const path = template
      .replace("SOURCE", filled.sourceUuid)
      .replace("PROCESS", filled.processUuid)
      .replace("MIDDLE", filled.middle.toISOString());
    const up = await walk(`${path}&sort=${sort}`, 1000);
    assert.ok(up.length > 0);
    const values = up.map((row) => row[field] as string | number);
    const isSorted = values.every((value, i) => i === 0 || (values[i - 1] ?? value) <= value);
    assert.ok(isSorted, `${values.slice(0, 20)}`);
    const pages = await walk(`${path}&sort=-${sort}`, Math.max(3, Math.ceil(up.length / 7)));
    const names = (rows: Rows) => rows.map((row) => row.uuid ?? row.track_id ?? row.name);
    assert.deepEqual(names(pages).reverse(), names(up));
  });

const FILTERS: readonly (readonly [path: string, holds: (row: Rows[number]) => boolean, isSome: boolean])[] = [
  ["/sources?type=file", ({ type }) => type === "file", true],
  ["/sources?stream_type=rtsp", ({ stream_type }) => stream_type === "rtsp", true],
  ["/sources?alias=Camera%207", ({ alias }) => alias === "Camera 7", true],
  ["/sources?alias=camera%207", () => false, false],
  ["/sources?status=unknown", ({ status }) => status === "unknown", true],
  ["/sources?status=offline", ({ status }) => status === "offline", true],
  ["/sources?status=streaming", () => false, false],
  ["/processes?state=failed", ({ state }) => state === "failed", true],
  ["/processes?", () => false, false],
  ["/processes?state=finished&graph=count", ({ graph, state }) => graph === "count" && state === "finished", true],
  ["/processes?state=all&from=MIDDLE", ({ started_at }) => String(started_at) >= filled.middle.toISOString(), true],
  ["/processes?state=all&to=MIDDLE", ({ started_at }) => String(started_at) < filled.middle.toISOString(), true],
  ["/outputs?alias=Output%204", ({ alias }) => alias === "Output 4", true],
  ["/outputs?process_uuid=PROCESS", () => false, false],
  ["/alerts?status=active&type=filter-search", ({ status }) => status === "active", true],
  ["/alerts?type=grid-density", () => false, false],
  ["/clips?source_uuid=SOURCE&state=failed", ({ state }) => state === "failed", true],
  ["/notices?reviewed=false&class=person", ({ reviewed }) => reviewed === false, true],
  ["/graphs?origin=own", () => false, false],
  ["/graphs?origin=installed", ({ origin }) => origin === "installed", true],
  ["/process/PROCESS/tracks?class=dog", ({ category_name }) => category_name === "dog", true],
  ["/process/PROCESS/tracks?to=2020-01-01", () => false, false],
];

for (const [template, holds, isSome] of FILTERS)
  test(`GET ${template} returns only what it asks for`, async () => {
    const path = template
      .replace("SOURCE", filled.sourceUuid)
      .replace("PROCESS", filled.processUuid)
      .replace("MIDDLE", filled.middle.toISOString());
    const { rows } = await list(`${path}&limit=200`);
    assert.equal(rows.length > 0, isSome);
    assert.deepEqual(
      rows.filter((row) => !holds(row)),
      [],
    );
  });

test("an unknown order and a cursor of another one are rejected, with what is expected", async () => {
  const errors = async (path: string) =>
    (await service.expect<{ errors: { path: string; message: string }[] }>(422, "GET", path)).errors;
  const [unknown] = await errors("/sources?sort=aliass");
  assert.equal(unknown?.path, "sort");
  assert.match(unknown?.message ?? "", /"created_at", "-created_at", "alias"/);
  const { next } = await list("/sources?sort=alias&limit=2");
  const [other] = await errors(`/sources?sort=-alias&cursor=${next}`);
  assert.deepEqual([other?.path, /same `sort`/.test(other?.message ?? "")], ["cursor", true]);
  const [corrupt] = await errors("/processes?cursor=abc");
  assert.equal(corrupt?.path, "cursor");
  const [odd] = await errors(`/process/${filled.processUuid}/tracks?zone=1,2,3,4,5,6,7`);
  assert.match(odd?.message ?? "", /pairs/);
});

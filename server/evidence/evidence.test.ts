/** Clips of notices, with streams that the real media hub records. */
import assert from "node:assert/strict";
import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { probePackets } from "../../media/mp4/decode.fixture.ts";
import type { AlertNotice } from "../../schemas/api/events.ts";
import { poll } from "../../test/watch.fixture.ts";
import { describeEvidence, toEvidence } from "../alerts/alert-evidence.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { evidenceEndpoints } from "../api/evidence.ts";
import { noticeEndpoints } from "../api/notices.ts";
import { openFiles } from "../files/open-files.ts";
import { TestS3 } from "../files/s3-server.fixture.ts";
import { addSource, MediaService } from "../media/media-service.fixture.ts";
import type { MediaServer } from "../media/open-media.ts";
import { ServiceError } from "../service-error.ts";
import { insertProcess } from "../sources/sources.fixture.ts";
import { findEnded, insertAlert, releaseProcess } from "../store/alerts.ts";
import { silentLog } from "../store/database.fixture.ts";
import type { NewDelivery } from "../store/deliveries.ts";
import { insertEvidence, type StoredEvidence } from "../store/evidence.ts";
import { removeAboveQuota } from "../store/files.ts";
import { addNode } from "../store/nodes.fixture.ts";
import { insertNotices } from "../store/notices.ts";
import { newUuid } from "../uuid.ts";
import { cutEvidence } from "./cut-evidence.ts";
import { ElsewhereNode, Evidence, type EvidenceDeps, NeedsEncoding } from "./evidence.ts";

const FAST = { everyMs: 50, retryMs: 100, patienceMs: 5_000, faultRetryMs: 100, sweepMs: 100 };
const PENDING = 4;
const NO_ENCODER = "this server does not encode clips";

let service: MediaService;
let evidence: Evidence;
let ada: string;
let adaUuid: string;
const delivered: NewDelivery[] = [];

type Parts = Pick<MediaService, "sql" | "config" | "nodeUuid"> & { readonly server: MediaServer };

const openEvidence = ({ sql, config, nodeUuid, server }: Parts, more: Partial<EvidenceDeps> = {}): Promise<Evidence> =>
  Evidence.open({
    ...{ sql, config, nodeUuid, log: silentLog, files: null, render: null, notify() {}, limits: FAST },
    delivery: { enqueue: async (_, deliveries) => void delivered.push(...deliveries), wake() {} },
    describe: (uuid, row) => describeEvidence(uuid, row, server.signer, "http://server"),
    cut: cutEvidence(server.recordings, () => assert.fail("none of these is a file")),
    ...more,
  });

before(async () => {
  const folder = {
    clipPath: (uuid: string) => evidence.folder.clipPath(uuid),
    has: (uuid: string) => evidence.folder.has(uuid),
  };
  service = await MediaService.open(
    {},
    {
      endpoints: ({ sql, server, nodeUuid }) => [
        ...noticeEndpoints(sql, server.signer),
        ...evidenceEndpoints({ sql, nodeUuid, files: null, stallMs: 10_000, evidence: { folder: folder as never } }),
      ],
    },
  );
  ada = await service.addUser("ada");
  const [row] = await service.sql<{ uuid: string }[]>`select uuid from users where username = 'ada'`;
  adaUuid = row?.uuid ?? "";
  evidence = await openEvidence(service);
});
after(async () => {
  await evidence?.close();
  await service?.close();
});

interface Raised {
  readonly clip?: StoredEvidence["clip"];
  readonly snapshot?: Buffer;
  readonly timeMs?: number;
  readonly pending?: number;
  /** With an alert of this process only. */
  readonly processUuid?: string;
}

/** A notice of an alert, as it is stored. */
async function raise(
  sourceUuid: string,
  { clip, snapshot, timeMs = Date.now(), pending = 100, processUuid }: Raised,
): Promise<string> {
  const [alertUuid, destination] = [newUuid(), newUuid()];
  const notice: AlertNotice = {
    ...{ id: newUuid(), alert_uuid: alertUuid, alias: "gate", type: "flow-control" },
    process_uuid: processUuid ?? newUuid(),
    ...{ source_uuid: sourceUuid, timestamp: new Date(timeMs).toISOString(), event: "triggered", tracks: [], data: {} },
  };
  const event = { alert: "a", type: "flow-control", timeMs, event: "triggered" as const, tracks: [], data: {} };
  const setting = { ...(clip && { clip }), snapshot: snapshot !== undefined };
  const place = {
    ...{ noticeUuid: notice.id, userUuid: adaUuid, sourceUuid, processUuid: notice.process_uuid },
    ...{ nodeUuid: service.nodeUuid, destinations: [destination], isFile: false },
  };
  const sent = { ...event, ...(snapshot && { snapshot: snapshot.toString("base64") }) };
  const config = { host: "broker", topic: "alerts", qos: 1 as const, username: null, password: null };
  await service.sql.begin(async (sql) => {
    await insertAlert(
      sql,
      adaUuid,
      {
        ...{
          uuid: alertUuid,
          processUuid: processUuid ?? null,
          alias: "gate",
          type: "flow-control",
          status: "active",
          schedule: null,
        },
        ...{ configuration: {}, output: [{ uuid: destination, type: "mqtt", config }], weight: 1 },
      },
      { alerts: 100, weight: 100 },
    );
    await insertNotices(sql, [{ userUuid: adaUuid, notice }]);
    await insertEvidence(sql, [toEvidence(sent, setting, place)], { pending, bytes: 2 ** 30 });
  });
  return notice.id;
}

const clipOf = (before_seconds: number, after_seconds: number, boxes = false) => ({
  before_seconds,
  after_seconds,
  boxes,
});
const read = async (notice: string) => (await service.call(ada, "GET", `/notice/${notice}`)).body;
const ended = async (notice: string) => {
  await poll("its evidence is complete", async () => {
    const [row] = await service.sql<{ state: string }[]>`select state from evidence where notice_uuid = ${notice}`;
    return row?.state !== "pending";
  });
  return read(notice);
};
/** Seconds of the clip, as others read it. */
async function secondsOf(url: string): Promise<number> {
  const answer = await service.app.call(new URL(url).pathname + new URL(url).search);
  assert.equal(answer.status, 200);
  const folder = await mkdtemp(join(tmpdir(), "windhover-evidence-"));
  try {
    await writeFile(join(folder, "clip.mp4"), Buffer.from(await answer.arrayBuffer()));
    const shown = probePackets(join(folder, "clip.mp4")).filter(
      ({ codec_type, flags }) => codec_type === "video" && !flags.includes("D"),
    );
    const times = shown.map(({ pts_time }) => Number(pts_time));
    return Math.max(...times) - Math.min(...times) + 0.04;
  } finally {
    await rm(folder, { recursive: true });
  }
}
const startedAt = (source: string) =>
  poll("it is recorded", async () => {
    const [row] = await service.sql<{ startedAt: Date }[]>`
      select segments.started_at from recordings join recording_segments as segments on recording_uuid = uuid
      where source_uuid = ${source} order by segments.started_at limit 1`;
    return row?.startedAt.getTime() ?? null;
  });
const untilTime = (ms: number) => poll("that time has come", () => Date.now() >= ms);

test("a notice has a clip of the recording, at once as a URL and then complete", async () => {
  const source = await addSource(service.sql, "ada", "ada/yard");
  const publisher = service.publish("rtsp", "ada/yard", ada);
  const beganMs = await startedAt(source);
  await untilTime(beganMs + 2_500);
  const timeMs = Date.now();
  const notice = await raise(source, { clip: clipOf(2, 2), snapshot: Buffer.from("picture"), timeMs });
  const first = await read(notice);
  assert.deepEqual(first.evidence, { state: "pending", missing: [], clip: null });
  const early = await service.app.call(`/notice/${notice}/clip`, { headers: { api_key: ada } });
  assert.deepEqual([early.status, ((await early.json()) as { code: string }).code], [409, "evidence_pending"]);
  assert.ok(Number(early.headers.get("retry-after")) >= 1);
  const snapshot = await service.app.call(new URL(first.snapshot_url).pathname + new URL(first.snapshot_url).search);
  assert.deepEqual([snapshot.status, await snapshot.text()], [200, "picture"]);

  const found = await ended(notice);
  assert.deepEqual([found.evidence.state, found.evidence.missing], ["ready", []]);
  const near = (text: string, ms: number) =>
    assert.ok(Math.abs(Date.parse(text) - ms) <= 100, `${text} for ${new Date(ms).toISOString()}`);
  near(found.evidence.clip.from, timeMs - 2_000);
  near(found.evidence.clip.to, timeMs + 2_000);
  const seconds = await secondsOf(found.clip_url);
  assert.ok(Math.abs(seconds - 4) < 0.5, `${seconds} s`);
  const ready = delivered
    .map(({ id, body }) => ({ id, ...JSON.parse(body), delivery: id }))
    .filter(({ event }) => event === "evidence-ready");
  assert.equal(ready.length, 1);
  assert.equal(JSON.parse(delivered.at(-1)?.body ?? "").id, notice);
  assert.notEqual(delivered.at(-1)?.id, notice);
  assert.equal(ready[0].evidence.state, "ready");
  publisher.kill("SIGKILL");

  // It outlives the recording, and ends with its notice.
  await poll("the recording has ended", async () => {
    const rows = await service.sql`select from recordings where source_uuid = ${source} and stopped_at is null`;
    return rows.length === 0;
  });
  await service.sql`update recordings set stopped_at = now() - interval '1 year' where source_uuid = ${source}`;
  await service.server.recordings.sweep();
  assert.equal((await service.sql`select from recordings where source_uuid = ${source}`).length, 0);
  assert.ok((await secondsOf(found.clip_url)) > 3);
  const bob = await service.addUser("bob");
  for (const part of ["clip", "snapshot"]) {
    const of = (query: string, headers = {}) => service.app.call(`/notice/${notice}/${part}${query}`, { headers });
    assert.equal((await of("", { api_key: bob })).status, 404);
    assert.equal((await of("")).status, 403);
    assert.equal((await of("?token=1.abc")).status, 403);
    assert.equal((await of(`?token=${service.server.signer.sign(`notice/${newUuid()}`)}`)).status, 403);
  }
  const path = evidence.folder.clipPath(notice);
  await access(path);
  assert.equal((await service.call(ada, "DELETE", `/notice/${notice}`)).status, 200);
  await poll("its file is removed", () =>
    access(path).then(
      () => false,
      () => true,
    ),
  );
  assert.equal((await service.app.call(new URL(found.clip_url).pathname + new URL(found.clip_url).search)).status, 404);
});

test("the alert of a process that has ended stays until its evidence is announced", async () => {
  const source = await addSource(service.sql, "ada", "ada/ended");
  const processUuid = await insertProcess(service.sql, adaUuid, source, "running");
  const process = { uuid: processUuid, userUuid: adaUuid };
  const isReleasable = async () => (await findEnded(service.sql, 60)).some(({ uuid }) => uuid === processUuid);
  const alerts = () => service.sql`select output from alerts where process_uuid = ${processUuid}`;
  await evidence.close();
  const notice = await raise(source, { clip: clipOf(1, 0), processUuid, timeMs: Date.now() - 60_000 });
  await service.sql`
    update processes set state = 'finished', finished_at = now() - interval '1 hour' where uuid = ${processUuid}`;
  assert.equal(await isReleasable(), false);
  assert.deepEqual(await service.sql.begin((sql) => releaseProcess(sql, process)), []);
  const [alert] = await alerts();
  const [destination] = (alert?.output ?? assert.fail("the alert is gone")) as { uuid: string }[];
  evidence = await openEvidence(service);
  const found = await ended(notice);
  assert.equal(found.evidence.state, "failed");
  const announced = delivered.filter(({ body }) => JSON.parse(body).id === notice);
  assert.deepEqual(
    announced.map(({ destinationUuid }) => destinationUuid),
    [destination?.uuid],
  );
  assert.equal(await isReleasable(), true);
  assert.deepEqual(await service.sql.begin((sql) => releaseProcess(sql, process)), [destination?.uuid]);
  assert.equal((await alerts()).length, 0);
});

test("a file that cannot be cut is encoded, as far as it has the range", async (t) => {
  await evidence.close();
  const rendered: unknown[] = [];
  const [video, broken] = [
    await addSource(service.sql, "ada", "ada/old"),
    await addSource(service.sql, "ada", "ada/bad"),
  ];
  await service.sql`update sources set hub_path = null, type = 'file', stream_type = null where uuid in ${service.sql([video, broken])}`;
  evidence = await openEvidence(service, {
    cut: cutEvidence(service.server.recordings, async (_, { fromMs, toMs }) => {
      return new NeedsEncoding({ fromMs, toMs: Math.min(toMs, 12_000) });
    }),
    render: async (path, job, range) => {
      if (job.sourceUuid === broken) throw new ServiceError("clip_failed", { detail: "the video is damaged" });
      rendered.push(range);
      await writeFile(path, "encoded");
      return 7;
    },
  });
  t.after(async () => {
    await evidence.close();
    evidence = await openEvidence(service);
  });
  const timeMs = Date.now() - 60_000;
  const [notice, other] = [
    await raise(video, { clip: clipOf(30, 30), timeMs }),
    await raise(broken, { clip: clipOf(1, 1), timeMs }),
  ];
  const isFile = service.sql([notice, other]);
  await service.sql`update evidence set position_ms = 10000 where notice_uuid in ${isFile}`;
  const found = await ended(notice);
  assert.deepEqual([found.evidence.state, found.evidence.missing], ["ready", []]);
  assert.deepEqual(rendered, [{ fromMs: timeMs - 10_000, toMs: timeMs + 2_000 }]);
  assert.equal(Date.parse(found.evidence.clip.to), timeMs + 2_000);
  const answer = await service.app.call(new URL(found.clip_url).pathname + new URL(found.clip_url).search);
  assert.equal(await answer.text(), "encoded");
  const failed = await ended(other);
  assert.equal(failed.evidence.state, "failed");
  assert.match(failed.evidence.missing[0].reason, /could not be encoded: .*damaged/);
});

test("the clip of a stream that is not recorded comes from its last seconds", async () => {
  const source = await addSource(service.sql, "ada", "ada/ring");
  await service.call(ada, "PATCH", `/source/${source}/recording`, { mode: "off", pre_roll_seconds: 10 });
  const publisher = service.publish("rtmp", "ada/ring", ada);
  const beganMs = await startedAt(source);
  await untilTime(beganMs + 2_500);
  const notice = await raise(source, { clip: clipOf(2, 1, true) });
  const found = await ended(notice);
  assert.equal(found.evidence.state, "partial");
  assert.deepEqual(found.evidence.missing, [{ part: "boxes", reason: `the boxes could not be drawn: ${NO_ENCODER}` }]);
  const seconds = await secondsOf(found.clip_url);
  assert.ok(Math.abs(seconds - 3) < 0.5, `${seconds} s: ${JSON.stringify(found.evidence.clip)}`);
  const { body } = await service.call(ada, "GET", `/sources/recordings?source_uuid=${source}`);
  assert.deepEqual(body.recordings, []);
  publisher.kill("SIGKILL");
});

test("evidence says which time ranges are missing, also after the end of the hub and of the server", async () => {
  const source = await addSource(service.sql, "ada", "ada/lost");
  const publisher = service.publish("rtsp", "ada/lost", ada);
  const beganMs = await startedAt(source);
  await untilTime(beganMs + 2_000);
  const timeMs = Date.now();
  const notice = await raise(source, { clip: clipOf(1, 2), timeMs });
  const none = await raise(source, { clip: clipOf(1, 0), timeMs: timeMs - 3_600_000 });
  const { pid = 0 } = service.server.hub;
  process.kill(pid, "SIGKILL");
  await evidence.close();
  const nodeUuid = newUuid();
  await service.sql`delete from nodes`;
  await addNode(service.sql, nodeUuid);
  evidence = await openEvidence({ ...service, server: service.server, nodeUuid });
  const found = await ended(notice);
  assert.equal(found.evidence.state, "partial");
  const [gap, ...others] = found.evidence.missing;
  assert.deepEqual([gap.part, others.length], ["clip", 0]);
  // What the hub had not written is less than two seconds.
  assert.ok(Date.parse(gap.from) >= timeMs - 2_000 && Date.parse(gap.to) === timeMs + 2_000, JSON.stringify(gap));
  assert.ok(Math.abs((await secondsOf(found.clip_url)) - (Date.parse(gap.from) - timeMs + 1_000) / 1000) < 0.3);
  const nothing = await ended(none);
  assert.equal(nothing.evidence.state, "failed");
  const [all] = nothing.evidence.missing;
  assert.deepEqual(
    [all.from, all.to],
    [timeMs - 3_601_000, timeMs - 3_600_000].map((ms) => new Date(ms).toISOString()),
  );
  const { status, body } = await service.call(ada, "GET", `/notice/${none}/clip`);
  assert.deepEqual([status, body.code], [404, "evidence_not_found"]);
  assert.match(body.detail, /no video of this time/);
  publisher.kill("SIGKILL");
});

test("a series of notices gets a limited number of clips, and the others say so", async () => {
  const source = await addSource(service.sql, "ada", "ada/storm");
  const notices: string[] = [];
  for (let i = 0; i < PENDING + 2; i += 1)
    notices.push(await raise(source, { clip: clipOf(1, 300), pending: PENDING }));
  const states = await Promise.all(notices.map(async (notice) => (await read(notice)).evidence.state));
  assert.deepEqual(states, [...Array(PENDING).fill("pending"), "skipped", "skipped"]);
  const { missing } = (await read(notices.at(-1) ?? "")).evidence;
  assert.match(missing[0].reason, /4 clips of this key are waiting/);
  await service.sql`delete from notices`;
});

test("without disk space evidence fails with the reason", async () => {
  const source = await addSource(service.sql, "ada", "ada/disk");
  const publisher = service.publish("rtsp", "ada/disk", ada);
  const beganMs = await startedAt(source);
  await untilTime(beganMs + 1_500);
  await evidence.close();
  const config = { ...service.config, disk: { ...service.config.disk, reserve_bytes: 2 ** 60 } };
  const [node] = await service.sql<{ uuid: string }[]>`select uuid from nodes`;
  evidence = await openEvidence(
    { ...service, server: service.server, nodeUuid: node?.uuid ?? "", config },
    { limits: { ...FAST, giveUpMs: 0 } },
  );
  const found = await ended(await raise(source, { clip: clipOf(1, 0) }));
  assert.equal(found.evidence.state, "failed");
  assert.match(found.evidence.missing[0].reason, /disk is nearly full/);
  assert.notEqual(service.server.hub.find("ada/disk"), null);
  publisher.kill("SIGKILL");
});

test("a snapshot is kept where there can be no clip", async (t) => {
  const source = await addSource(service.sql, "ada", "ada/camera");
  await service.sql`update sources set hub_path = null where uuid = ${source}`;
  await evidence.close();
  const reason = "the video of this source cannot be kept, only H.264 and H.265 can";
  const noFile = () => assert.fail("none of these is a file");
  evidence = await openEvidence(service, { cut: cutEvidence(service.server.recordings, noFile, () => reason) });
  t.after(async () => {
    await evidence.close();
    evidence = await openEvidence(service);
  });
  const found = await ended(await raise(source, { clip: clipOf(1, 0), snapshot: Buffer.from("picture") }));
  assert.equal(found.evidence.state, "partial");
  assert.deepEqual(found.evidence.missing, [{ part: "clip", reason }]);
  const alone = await raise(source, { snapshot: Buffer.from("picture") });
  assert.deepEqual((await read(alone)).evidence, { state: "ready", missing: [], clip: null });
  assert.equal((await read(alone)).clip_url, undefined);
});

test("a clip is cut by the node that has the recording, and stored in the bucket for all", async (t) => {
  const s3 = await TestS3.start();
  const folder = await mkdtemp(join(tmpdir(), "windhover-evidence-"));
  const config = makeConfig({
    DATA_DIR: folder,
    DISK_RESERVE_BYTES: "0",
    RECORDINGS_RESERVE_BYTES: "0",
    ...s3.variables,
  });
  const files = (await openFiles({ sql: service.sql, config, log: silentLog, sweepMs: 3_600_000 })) ?? assert.fail();
  t.after(async () => {
    await files.close();
    await s3.close();
    await rm(folder, { recursive: true });
  });
  const source = await addSource(service.sql, "ada", "ada/shared");
  const publisher = service.publish("rtsp", "ada/shared", ada);
  const beganMs = await startedAt(source);
  await untilTime(beganMs + 1_500);
  await evidence.close();
  const [other, holder] = [newUuid(), newUuid()];
  await addNode(service.sql, other);
  await addNode(service.sql, holder);
  const notice = await raise(source, { clip: clipOf(1, 0) });
  await service.sql`update evidence set node_uuid = ${other} where notice_uuid = ${notice}`;
  const without = await openEvidence(
    { ...service, server: service.server, nodeUuid: other },
    { cut: async () => new ElsewhereNode(holder) },
  );
  t.after(() => without.close());
  await poll("it is left to the other node", async () => {
    const [row] = await service.sql<
      { nodeUuid: string }[]
    >`select node_uuid from evidence where notice_uuid = ${notice}`;
    return row?.nodeUuid === holder;
  });
  evidence = await openEvidence({ ...service, server: service.server, nodeUuid: holder, config }, { files });
  const found = await ended(notice);
  assert.equal(found.evidence.state, "ready");
  assert.equal(await evidence.folder.has(notice), false);
  const row = (await files.find("evidence", notice)) ?? assert.fail();
  assert.equal(row.sizeBytes, found.evidence.clip.size_bytes);
  const pieces: Uint8Array[] = [];
  for await (const piece of await files.read(row.key, { first: 4, last: 7 })) pieces.push(piece);
  assert.equal(Buffer.concat(pieces).toString(), "ftyp");
  // The quota of recordings leaves it; its notice takes it along.
  assert.equal(await removeAboveQuota(service.sql, 0), 0);
  await service.call(ada, "DELETE", `/notice/${notice}`);
  await poll("it is removed", async () => (await files.find("evidence", notice)) === null);
  publisher.kill("SIGKILL");
});

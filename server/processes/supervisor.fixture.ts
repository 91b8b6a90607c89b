/** The real supervisor on a real database, with scripted runners. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach } from "node:test";
import { pino } from "pino";
import type { JsonRecord } from "../../schemas/json.ts";
import { makeConfig, makeUser } from "../api/app.fixture.ts";
import { type ClusterLimits, ClusterNode } from "../cluster/node.ts";
import { testConfinement } from "../confinement/confinement.fixture.ts";
import { ServiceError } from "../service-error.ts";
import type { TelemetrySetting } from "../sources/telemetry-cfg.ts";
import type { Sql } from "../store/client.ts";
import { testDatabase } from "../store/database.fixture.ts";
import type { NodeFacts } from "../store/nodes.ts";
import { findProcess, type ProcessView } from "../store/processes.ts";
import { createUser, toUser } from "../store/users.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import type { FixedLimits, ProcessNotice, ProcessState } from "./processes.ts";
import { SCRIPTED_CHILDREN } from "./scripted-child.fixture.ts";
import { Supervisor, type SupervisorDeps } from "./supervisor.ts";

export const SCRIPTED = new URL("./scripted-runner.fixture.mjs", import.meta.url);

/** Short, so that tests of limits are quick; long enough that a busy machine causes no faults. */
const SETTINGS = { RUNNERS_SPARE: "0", RUNNERS_START_SECONDS: "60", RUNNERS_RESTART_MOST_SECONDS: "0.1" };
const LIMITS = { restartFirstMs: 100, usageMs: 200 };

export interface Stage {
  readonly supervisor: Supervisor;
  readonly node: ClusterNode;
  readonly user: User;
  readonly sourceUuid: string;
  /** Starts a process whose runner follows the script. */
  start(script?: JsonRecord, more?: { readonly graph?: string; readonly signal?: AbortSignal }): Promise<string>;
  row(uuid: string): Promise<ProcessView | null>;
  /** Waits until it has ended, and returns its row. */
  ended(uuid: string): Promise<ProcessView | null>;
  /** Resolves with the first matching notice; rejects when the process ends before. */
  waitFor(uuid: string, fits: (notice: ProcessNotice) => boolean): Promise<ProcessNotice>;
  reach(uuid: string, state: ProcessState): Promise<void>;
  /** The state of the runner itself. */
  inside(
    uuid: string,
  ): Promise<{ pid: number; attached: JsonRecord; live: JsonRecord; job: JsonRecord; state: string }>;
}

export interface StageOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly limits?: Partial<FixedLimits>;
  /** Other nodes use the database, too. */
  readonly isAlone?: boolean;
  readonly lease?: Partial<ClusterLimits>;
  /** Of the node. */
  readonly facts?: Partial<NodeFacts>;
  readonly isFile?: boolean;
  readonly loops?: boolean;
  /** Its telemetry setting, read at each start. */
  telemetry?(): TelemetrySetting | null;
  /** The address of the source. */
  locate?(): Promise<string>;
  readonly user?: User;
  readonly sourceUuid?: string;
  readonly allocatedMs?: number | null;
  readonly needs?: Partial<SupervisorDeps>;
  /** Its scripted runners are confined processes of their own, as real ones are. */
  readonly hasProcesses?: boolean;
}

/** A database for the tests of a file, and stages on it, which are closed after each test. */
export async function openStages(complete: (options: StageOptions) => StageOptions = (options) => options) {
  const database = await testDatabase();
  after(() => database.close());
  const open: Stage[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map(({ supervisor }) => supervisor.close()));
  });
  const stage = async (options: StageOptions = {}, sql: Sql = database.sql): Promise<Stage> => {
    const opened = await openStage(sql, complete(options));
    open.push(opened);
    return opened;
  };
  return { database, stage };
}

export async function openStage(sql: Sql, options: StageOptions = {}): Promise<Stage> {
  const user = options.user ?? (await addUser(sql, options.allocatedMs ?? null));
  const sourceUuid = options.sourceUuid ?? (await addSource(sql, user));
  const { isFile = false, loops = false, hasProcesses = options.needs?.runnerEntry !== undefined } = options;
  const log = pino({ level: "silent" });
  const node = await ClusterNode.join(
    {
      ...{ sql, log, isAlone: options.isAlone ?? true },
      limits: { renewMs: 200, ...options.lease },
    },
    options.facts,
  );
  const supervisor = await Supervisor.open({
    sql,
    config: makeConfig({ ...SETTINGS, ...options.settings }),
    log,
    node,
    runnerEntry: SCRIPTED,
    confinement: hasProcesses ? await testConfinement() : SCRIPTED_CHILDREN,
    folders: null,
    prepare: async ({ graph, params }) => {
      if (graph === "absent") throw new ServiceError("graph_not_found", { detail: graph });
      const slots: Readonly<Record<string, JsonRecord>> = graph === "bare" ? {} : { feed: {}, rtmp: {}, rtsp: {} };
      return { params, offers: new Set(["detections"]), slots };
    },
    resolveInput: async (userUuid, uuid) => {
      const found = await sql`select from sources where uuid = ${uuid} and user_uuid = ${userUuid}`;
      if (found.length === 0) throw new ServiceError("source_not_found", { detail: uuid });
      const uri = "rtsp://ada:secret@camera/";
      const telemetry = options.telemetry?.() ?? null;
      const locate = options.locate ?? (async () => uri);
      return { uri, isFile, loops, label: "rtsp://***@camera/", telemetry, locate };
    },
    routeOutput: async ({ type, url }) =>
      type === "rtmp" || type === "rtsp" ? { params: { url }, release() {} } : null,
    recordings: { isAllowed: () => false, segmentMs: 600_000, nextFile: async () => "/missing/0.mp4" },
    metrics: null,
    limits: { ...LIMITS, ...options.limits },
    ...options.needs,
  });
  await supervisor.resumeAll();
  const close = supervisor.close.bind(supervisor);
  // A closed server leaves the cluster.
  supervisor.close = async () => {
    await close();
    await node.leave();
  };
  const start: Stage["start"] = async (script = {}, { graph = "detect", signal } = {}) => {
    const order = { user, sourceUuid, graph, params: { script } };
    return (await supervisor.start({ ...order, ...(signal !== undefined && { signal }) })).uuid;
  };
  const waitFor: Stage["waitFor"] = (uuid, fits) => listen(supervisor, user, uuid, fits);
  return {
    supervisor,
    node,
    user,
    sourceUuid,
    start,
    waitFor,
    row: (uuid) => findProcess(sql, user.uuid, uuid),
    ended: async (uuid) => {
      await supervisor.held(uuid)?.ended;
      return findProcess(sql, user.uuid, uuid);
    },
    reach: async (uuid, state) => {
      // A resumed process shows this state before its runner is launched.
      const isThere = () => (supervisor.held(uuid)?.state ?? state) === state;
      await waitFor(uuid, (notice) => notice.type === "state" && notice.state === state && isThere());
    },
    inside: async (uuid) => (await supervisor.describe(user, uuid, "json")) as Awaited<ReturnType<Stage["inside"]>>,
  };
}

async function listen(
  supervisor: Supervisor,
  user: User,
  uuid: string,
  fits: (notice: ProcessNotice) => boolean,
): Promise<ProcessNotice> {
  let leave = (): void => {};
  try {
    return await new Promise<ProcessNotice>((resolve, reject) => {
      supervisor
        .follow(user, uuid, (notice) => {
          if (fits(notice)) resolve(notice);
          else if (notice.type === "ended") reject(new Error("the process ended before that"));
        })
        .then((stop) => {
          leave = stop;
        }, reject);
    });
  } finally {
    leave();
  }
}

export async function addUser(sql: Sql, allocatedMs: number | null = null): Promise<User> {
  const name = `user-${randomBytes(4).toString("hex")}`;
  const row = await createUser(sql, {
    ...{ username: name, masterUuid: null, product: "test", keyId: name, keySha256: randomBytes(32) },
    ...{ hasTrackLogger: false, hasRecording: false, hasEnhancement: false, isGraphAuthor: false },
    ...{ isOperator: false, limits: {}, expiresAt: null, allocatedMs, pendingMs: 0 },
  });
  assert.ok(typeof row !== "string");
  return toUser(row, makeUser(name).limits);
}

export async function addSource(sql: Sql, user: User): Promise<string> {
  const uuid = newUuid();
  await sql`
    insert into sources (uuid, user_uuid, alias, type, stream_type, input_url, identity)
    values (${uuid}, ${user.uuid}, 'camera', 'stream', 'rtsp',
      ${sql.typed.sealed("rtsp://ada:secret@camera/")}, ${sql.typed.sealed(uuid)})`;
  return uuid;
}

export async function addOutput(sql: Sql, user: User, type: "rtsp" | "rtmp" | "detection_data"): Promise<string> {
  const uuid = newUuid();
  const url = { rtsp: "rtsp://yard", rtmp: "rtmp://there:1935/live/yard", detection_data: null }[type];
  await sql`
    insert into outputs (uuid, user_uuid, alias, type, url, identity, hub_path)
    values (${uuid}, ${user.uuid}, 'out', ${type}, ${sql.typed.sealed(url)}, ${sql.typed.sealed(uuid)},
      ${type === "rtsp" ? `${user.username}/yard` : null})`;
  return uuid;
}

export const rejectsWith =
  (code: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  };

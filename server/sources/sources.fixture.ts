/** The real endpoints of sources and outputs over a real database, for users of the test's own. */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../schemas/config.ts";
import { makeConfig, makeUser, openApp, type TestApp } from "../api/app.fixture.ts";
import type { AnyEndpoint } from "../api/endpoint.ts";
import { outputEndpoints } from "../api/outputs.ts";
import { sourceEndpoints } from "../api/sources.ts";
import { testConfinement } from "../confinement/confinement.fixture.ts";
import type { Confinement } from "../confinement/confinement.ts";
import { openFiles, type SharedFiles } from "../files/open-files.ts";
import type { Signer } from "../keys/signed-urls.ts";
import { StillMedia, testSigner } from "../media/media.fixture.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, testDatabase } from "../store/database.fixture.ts";
import { addNode } from "../store/nodes.fixture.ts";
import type { User, UserLimits } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { Sources } from "./sources.ts";
import type { UploadLimits } from "./uploads.ts";

export const PROBE_ENTRY = new URL("../../graphs/runtime/probe/probe.mjs", import.meta.url);
const QUICK_PROBE = new URL("quick-probe.fixture.mjs", import.meta.url);

// biome-ignore lint/suspicious/noExplicitAny: what comes back is checked by the schemas of its endpoint.
type Body = any;

export interface Reply {
  readonly status: number;
  readonly body: Body;
}

export interface Client {
  readonly user: User;
  call(method: string, path: string, body?: unknown): Promise<Reply>;
  /** `body` as `fetch` takes it: a form, or bytes with a media type. */
  post(path: string, body: RequestInit["body"], headers?: Record<string, string>): Promise<Reply>;
}

export interface SourcesService {
  readonly app: TestApp;
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly sources: Sources;
  readonly dataDir: string;
  readonly media: StillMedia;
  /** A user of its own, with a key. */
  addUser(limits?: Partial<UserLimits>): Promise<Client>;
  /** Null: no bucket is configured. */
  readonly files: SharedFiles | null;
  /** As the next start of the server does it. */
  reopen(): Promise<void>;
  /** Another node, with a data folder of its own. The service closes it. */
  addNode(): Promise<{ readonly sources: Sources; readonly files: SharedFiles | null; readonly dataDir: string }>;
  /** All files below the folder of videos. */
  listFiles(): Promise<readonly string[]>;
  /** In bytes. */
  largestFile(): Promise<number>;
  close(): Promise<void>;
}

/** What further endpoints of a test are made of. */
export interface ServiceParts {
  readonly sql: Sql;
  readonly config: Config;
  readonly sources: Sources;
  readonly confinement: Confinement;
  readonly nodeUuid: string;
  readonly signer: Signer;
  readonly files: SharedFiles | null;
}

export const GENEROUS = { sources: 100, outputsRegistered: 100, videoBytes: 500 * 2 ** 20, storageBytes: 10 * 2 ** 30 };

const NO_RESERVE = { DISK_RESERVE_BYTES: "0", RECORDINGS_RESERVE_BYTES: "0" };

export async function openSourcesService(
  settings: Readonly<Record<string, string>> = {},
  limits: Partial<UploadLimits> = {},
  addEndpoints: (parts: ServiceParts) => Promise<readonly AnyEndpoint[]> = async () => [],
): Promise<SourcesService> {
  const dataDir = await mkdtemp(join(tmpdir(), "windhover-sources-"));
  const config = makeConfig({ DATA_DIR: dataDir, ...NO_RESERVE, ...settings });
  const database = await testDatabase();
  const { sql } = database;
  const users = new Map<string, User>();
  const nodeUuid = newUuid();
  await addNode(sql, nodeUuid);
  const media = new StillMedia();
  const signer = testSigner();
  const confinement = await testConfinement();
  const openNode = async (config: Config) => {
    // Sweeps are what the test calls.
    const files = await openFiles({ sql, config, log: silentLog, sweepMs: 3_600_000 });
    const needs = { sql, config, log: silentLog, nodeUuid, media, signer, confinement };
    const sources = await Sources.open({ ...needs, probeEntry: QUICK_PROBE, limits, files });
    const close = async () => {
      sources.close();
      await files?.close();
    };
    return { sources, files, close };
  };
  const { sources, files, close } = await openNode(config);
  const closers: (() => Promise<void>)[] = [close];
  const app = await openApp(
    [
      ...sourceEndpoints(sql, sources),
      ...outputEndpoints({
        sql,
        config,
        hub: { rtspPort: media.rtspPort, signer },
        processes: { views: async () => new Map() },
      }),
      ...(await addEndpoints({ sql, config, sources, confinement, nodeUuid, signer, files })),
    ],
    {
      config,
      isSigned: (resource, token) => signer.isGood(resource, token),
      authenticate: async (key) => {
        const user = users.get(key ?? "");
        if (user === undefined) throw new ServiceError("api_key_invalid", { detail: "there is no such key" });
        return user;
      },
    },
  );
  const send = async (key: string, method: string, path: string, init: RequestInit): Promise<Reply> => {
    const response = await app.call(path, { method, ...init, headers: { api_key: key, ...init.headers } });
    return { status: response.status, body: await response.json() };
  };
  return {
    app,
    sql,
    databaseUrl: database.url,
    sources,
    dataDir,
    media,
    async addUser(limits = {}) {
      const user = makeUser(`user-${users.size}`, { ...GENEROUS, ...limits });
      const key = user.username;
      users.set(key, user);
      await insertUser(sql, user);
      return {
        user,
        call: (method, path, body) =>
          send(key, method, path, {
            ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
          }),
        post: (path, body, headers = {}) => send(key, "POST", path, { ...(body != null && { body }), headers }),
      };
    },
    files,
    async reopen() {
      await (await openNode(config)).close();
    },
    async addNode() {
      const dataDir = await mkdtemp(join(tmpdir(), "windhover-sources-"));
      const node = await openNode(makeConfig({ DATA_DIR: dataDir, ...NO_RESERVE, ...settings }));
      closers.push(node.close, () => rm(dataDir, { recursive: true, force: true }));
      return { ...node, dataDir };
    },
    async listFiles() {
      const entries = await readdir(join(dataDir, "videos"), { withFileTypes: true, recursive: true });
      return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    },
    async largestFile() {
      const names = await readdir(join(dataDir, "videos"), { recursive: true });
      // Undefined: removed in the meantime.
      const found = await Promise.all(names.map((name) => stat(join(dataDir, "videos", name)).catch(() => undefined)));
      return Math.max(0, ...found.map((one) => (one?.isFile() ? one.size : 0)));
    },
    async close() {
      await app.close(1000);
      for (const closeOne of closers) await closeOne();
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export async function insertUser(sql: Sql, { uuid, username, product }: User): Promise<void> {
  await sql`
    insert into users
      (uuid, username, product, key_id, key_sha256, has_track_logger, has_recording, has_enhancement, is_graph_author)
    values (${uuid}, ${username}, ${product}, ${uuid}, ${Buffer.alloc(32)}, false, false, false, false)`;
}

/** A process as it is kept, in this state, on this source. */
export async function insertProcess(sql: Sql, userUuid: string, sourceUuid: string, state: string): Promise<string> {
  const uuid = newUuid();
  await sql`
    insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state)
    values (${uuid}, ${userUuid}, ${sourceUuid}, '', 'detect', '{}', false, 'running', ${state})`;
  return uuid;
}

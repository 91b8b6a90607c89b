/** The real media server over a real database: sources, outputs and what is published to them, for users with real keys. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../schemas/config.ts";
import { findHubPorts } from "../../test/ports.fixture.ts";
import { makeConfig, openApp, type TestApp } from "../api/app.fixture.ts";
import type { AnyEndpoint } from "../api/endpoint.ts";
import { recordingSettingEndpoints } from "../api/evidence.ts";
import { mediaEndpoints } from "../api/media.ts";
import { outputEndpoints } from "../api/outputs.ts";
import { recordingEndpoints } from "../api/recordings.ts";
import { sourceEndpoints } from "../api/sources.ts";
import { testConfinement } from "../confinement/confinement.fixture.ts";
import { Authenticator, findKeyIn, LoginGate } from "../keys/authenticate.ts";
import { createKey, type KeyOrder } from "../keys/keys.ts";
import { Sources } from "../sources/sources.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, testDatabase } from "../store/database.fixture.ts";
import { addNode } from "../store/nodes.fixture.ts";
import { newUuid } from "../uuid.ts";
import { type MediaServer, type MediaServerDeps, openMedia } from "./open-media.ts";
import { spawnPublisher } from "./publisher.fixture.ts";

export const KEY_ORDER: Omit<KeyOrder, "username"> = {
  ...{ master: null, product: "test", pendingMs: 0, allocatedMs: null, expiresAt: null },
  ...{ hasTrackLogger: false, hasRecording: false, hasEnhancement: false, isGraphAuthor: false, isOperator: false },
  limits: {},
};

const HUB_ENTRY = new URL("../../hub/hub.mjs", import.meta.url);
const PROBE_ENTRY = new URL("../../graphs/runtime/probe/probe.mjs", import.meta.url);
const STALL_MS = 10_000;

interface More extends Pick<MediaServerDeps, "recheckMs"> {
  /** Further ones of this service. */
  endpoints?(parts: Pick<MediaService, "sql" | "server" | "config" | "nodeUuid">): readonly AnyEndpoint[];
}

/** A media-server source as it is kept. */
export async function addSource(sql: Sql, username: string, path: string, streamType = "rtsp"): Promise<string> {
  const uuid = newUuid();
  await sql`
    insert into sources (uuid, user_uuid, alias, type, stream_type, input_url, identity, hub_path)
    select ${uuid}, uuid, ${path.split("/").at(-1) ?? ""}, 'stream', ${streamType},
      ${sql.typed.sealed(`${streamType}://h/${path}`)}, ${sql.typed.sealed(uuid)}, ${path}
    from users where username = ${username}`;
  return uuid;
}

/** An rtsp output as it is kept. */
export async function addOutput(sql: Sql, username: string, path: string): Promise<string> {
  const uuid = newUuid();
  await sql`
    insert into outputs (uuid, user_uuid, alias, type, url, identity, hub_path)
    select ${uuid}, uuid, ${path}, 'rtsp', ${sql.typed.sealed(`rtsp://${path}`)}, ${sql.typed.sealed(uuid)},
      username || '/' || ${path}
    from users where username = ${username}`;
  return uuid;
}

// biome-ignore lint/suspicious/noExplicitAny: what comes back is checked by the schemas of its endpoint.
type Body = any;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export class MediaService {
  readonly app: TestApp;
  readonly sql: Sql;
  readonly config: Config;
  readonly server: MediaServer;
  readonly dataDir: string;
  readonly nodeUuid: string;
  readonly #publishers = new Set<ChildProcess>();
  readonly #close: () => Promise<void>;

  private constructor(
    parts: Pick<MediaService, "app" | "sql" | "config" | "server" | "dataDir" | "nodeUuid">,
    close: () => Promise<void>,
  ) {
    ({ app: this.app, sql: this.sql, config: this.config, server: this.server, dataDir: this.dataDir } = parts);
    this.nodeUuid = parts.nodeUuid;
    this.#close = close;
  }

  static async open(settings: Readonly<Record<string, string>> = {}, more: More = {}): Promise<MediaService> {
    const dataDir = await mkdtemp(join(tmpdir(), "windhover-media-"));
    const defaults = {
      DATA_DIR: dataDir,
      ...(await findHubPorts()),
      RECORDINGS_RESERVE_BYTES: "0",
    };
    const config = makeConfig({ ...defaults, ...settings });
    const database = await testDatabase();
    const { sql } = database;
    const nodeUuid = newUuid();
    await addNode(sql, nodeUuid);
    const needs = { sql, config, log: silentLog, nodeUuid };
    const server = await openMedia({ ...needs, hubEntry: HUB_ENTRY, ...more });
    const { hub: media, signer } = server;
    const confinement = await testConfinement();
    const sources = await Sources.open({ ...needs, probeEntry: PROBE_ENTRY, confinement, media, signer });
    const hub = { rtspPort: media.rtspPort, signer };
    const { authenticate } = new Authenticator(findKeyIn(sql, config), new LoginGate(1000));
    const app = await openApp(
      [
        ...sourceEndpoints(sql, sources),
        ...outputEndpoints({ sql, config, hub, processes: { views: async () => new Map() } }),
        ...mediaEndpoints(server, { ...config, stallMs: STALL_MS }),
        ...recordingEndpoints({ recordings: server.recordings, signer, stallMs: STALL_MS }),
        ...recordingSettingEndpoints(sql, server.recordings),
        ...(more.endpoints?.({ sql, server, config, nodeUuid }) ?? []),
      ],
      { config, authenticate, isSigned: (resource, token) => signer.isGood(resource, token) },
    );
    return new MediaService({ app, sql, config, server, dataDir, nodeUuid }, async () => {
      await app.close(1000);
      sources.close();
      await server.close();
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
    });
  }

  /** The key of a new user. */
  async addUser(username: string): Promise<string> {
    return (await createKey(this.sql, { ...KEY_ORDER, username })).key;
  }

  async call(key: string, method: string, path: string, body?: unknown): Promise<Reply> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { api_key: key, ...(body !== undefined && { "content-type": "application/json" }) };
    const answer = await this.app.call(path, { method, ...json, headers });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  }

  address(protocol: "rtsp" | "rtmp", path: string): string {
    const { rtspPort, rtmpPort } = this.server.hub;
    return `${protocol}://127.0.0.1:${protocol === "rtsp" ? rtspPort : rtmpPort}/${path}`;
  }

  /** ffmpeg with a test picture, until it is ended or `seconds` have been sent. */
  publish(protocol: "rtsp" | "rtmp", path: string, key: string, seconds = 600): ChildProcess {
    const publisher = spawnPublisher(`${this.address(protocol, path)}?api_key=${key}`, seconds);
    this.#publishers.add(publisher);
    publisher.once("exit", () => this.#publishers.delete(publisher));
    return publisher;
  }

  async close(): Promise<void> {
    for (const publisher of this.#publishers) publisher.kill("SIGKILL");
    await this.#close();
  }
}

export async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

/** The media server: hub, authorization of its clients, recordings, signed URLs. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import type { Authorization } from "../../schemas/hub.ts";
import { Poller } from "../async/poller.ts";
import { clipsFolder } from "../clips/work-folder.ts";
import type { ClusterNode } from "../cluster/node.ts";
import { ClusterKey } from "../cluster/signature.ts";
import type { SharedFiles } from "../files/open-files.ts";
import { Authenticator, findKeyIn } from "../keys/authenticate.ts";
import { createSigner, type Signer } from "../keys/signed-urls.ts";
import { makeSocketFolder } from "../socket-folder.ts";
import { listInvalid } from "../store/api-keys.ts";
import type { Sql } from "../store/client.ts";
import { judgePaths } from "../store/hub-paths.ts";
import { readSigningKey } from "../store/nodes.ts";
import type { User } from "../user.ts";
import { Authorizer, RunTokens, WrongKeys } from "./authorization.ts";
import { ClusterStreams } from "./cluster-streams.ts";
import { type AskHub, askHubAt, WatchedPaths } from "./hub-proxy.ts";
import { MediaHub } from "./media-hub.ts";
import { listProcessFolders } from "./recordings/recording-files.ts";
import { Recordings } from "./recordings/recordings.ts";
import { StreamLog } from "./stream-log.ts";

export interface MediaServerDeps {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** Absent, or alone: there are no other nodes. */
  readonly node?: ClusterNode;
  /** The program of the hub. */
  readonly hubEntry: URL;
  /** Null or undefined: recordings stay in the data folder. */
  readonly files?: SharedFiles | null;
  /** Interval for checking the authorization of connected clients; set in tests. */
  readonly recheckMs?: number;
}

export interface MediaServer {
  readonly hub: MediaHub;
  readonly signer: Signer;
  /** Of this installation. */
  readonly signingKey: Uint8Array;
  readonly recordings: Recordings;
  /** Streams that other nodes publish. Absent: there are no other nodes. */
  readonly elsewhere?: ClusterStreams | undefined;
  /** For HLS, WHEP and WHIP. */
  readonly ask: AskHub;
  /** Whether a user may publish to this path by WHIP, and what is recorded. Rejects if the database is unavailable. */
  readonly admitPublisher: (user: User, path: string) => Promise<Authorization>;
  readonly watched: WatchedPaths;
  /** A viewer of this path was authorized by a key or a signed URL. */
  readonly onKeyUsed: (path: string, key?: string) => void;
  close(): Promise<void>;
}

const PREFIX = "windhover-hub-";
const RECHECK_MS = 10_000;
/** Number of wrong keys from one address after which its responses are delayed. */
const WRONG_KEYS = 5;
/** Delay of responses after too many wrong keys. */
export const WRONG_KEY_MS = 3_000;
/** Timeout of HLS and WebRTC requests to the media hub. */
const ANSWER_MS = 15_000;

/** Resolves when the hub listens. Rejects with `HubFault`; then nothing is left running. */
export async function openMedia(deps: MediaServerDeps): Promise<MediaServer> {
  const { sql, config, log, node, nodeUuid, hubEntry, files = null, recheckMs = RECHECK_MS } = deps;
  const { url_seconds: urlSeconds, watch_seconds: watchSeconds } = config.media;
  const signingKey = await readSigningKey(sql);
  const signer = createSigner(signingKey, { urlSeconds, watchSeconds });
  let hub: MediaHub | null = null;
  const expel = (path: string, reason: string): void => hub?.expel(path, reason);
  const elsewhere =
    node === undefined || node.isAlone
      ? undefined
      : new ClusterStreams({ sql, log, node, key: new ClusterKey(signingKey), expel });
  const recordings = await Recordings.open({
    ...{ sql, config, log, nodeUuid, files },
    otherFolders: listProcessFolders(config.data_dir),
    keptFolders: [clipsFolder(config.data_dir)],
    onAllowed: (isAllowed) => hub?.allowRecording(isAllowed),
  });
  const streamLog = await StreamLog.open({ sql, log, nodeUuid, isAlone: elsewhere === undefined });
  const livePaths = () => hub?.livePaths ?? [];
  const rechecks = new KeyRechecks({
    ...{ sql, log, everyMs: recheckMs, expel },
    expelKey: (key, reason) => hub?.expelKey(key, reason),
    livePaths: () => [...livePaths(), ...(hub?.relayedPaths ?? [])],
  });
  const onKeyUsed = (path: string, key?: string): void => rechecks.add(path, key);
  const folder = await makeSocketFolder(PREFIX);
  const httpSocket = join(folder, "http");
  const close = async (): Promise<void> => {
    await rechecks.close();
    await hub?.close();
    await elsewhere?.close();
    await streamLog.close();
    await recordings.close();
    await rm(folder, { recursive: true, force: true });
  };
  const tokens = new RunTokens();
  const wrongKeys = new WrongKeys(WRONG_KEYS);
  const authorizer = new Authorizer({
    ...{ sql, log, tokens, wrongKeys, onKeyUsed, livePaths, elsewhere },
    maxPublished: config.media.publishers_per_key,
    keys: new Authenticator(findKeyIn(sql, config), wrongKeys),
    sleep: () => wait(WRONG_KEY_MS),
    nameRecording: (subject) => recordings.name(subject),
    onRejected: (rejected) => streamLog.reject(rejected),
  });
  try {
    hub = await MediaHub.open({
      ...{ config, log, tokens, recordings, httpSocket, entry: hubEntry, recordingsFolder: recordings.folder.path },
      authorize: (request) => authorizer.authorize(request),
      ...{ elsewhere, streamLog },
    });
  } catch (error) {
    await close();
    throw error;
  }
  // It may have changed while the hub was starting.
  hub.allowRecording(recordings.trouble === null);
  recordings.connect(hub);
  const ask = askHubAt(httpSocket, ANSWER_MS);
  const admitPublisher = (user: User, path: string) =>
    authorizer.authorizeUser(user, { action: "publish", protocol: "webrtc", path });
  return {
    hub,
    signer,
    signingKey,
    recordings,
    elsewhere,
    ask,
    admitPublisher,
    watched: new WatchedPaths(sql),
    onKeyUsed,
    close,
  };
}

interface RecheckDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly everyMs: number;
  livePaths(): readonly string[];
  expel(path: string, reason: string): void;
  expelKey(key: string, reason: string): void;
}

const MAX_KEYS = 10_000;

/** An authorized client publishes or plays by then, or has gone. */
const IDLE_MS = 60_000;

/** Disconnects clients whose key, source or output was removed after they were authorized. */
class KeyRechecks {
  readonly #deps: RecheckDeps;
  /** When a client was last authorized by a key, by path. Runners have tokens and are not listed. */
  readonly #usedMs = new Map<string, number>();
  /** That have authorized a client, the last one at the end. */
  readonly #keys = new Set<string>();
  readonly #poller: Poller;

  constructor(deps: RecheckDeps) {
    this.#deps = deps;
    this.#poller = new Poller(async () => {
      await this.#run().catch((error: unknown) =>
        deps.log.warn({ err: error }, "keys of hub clients could not be checked; retrying"),
      );
      return deps.everyMs;
    });
    this.#poller.start(deps.everyMs);
  }

  add(path: string, key?: string): void {
    this.#usedMs.set(path, performance.now());
    if (key === undefined) return;
    this.#keys.delete(key);
    this.#keys.add(key);
    if (this.#keys.size > MAX_KEYS) this.#keys.delete(this.#keys.keys().next().value ?? "");
  }

  close(): Promise<void> {
    return this.#poller.close();
  }

  async #run(): Promise<void> {
    const { sql, expel, expelKey, livePaths, log } = this.#deps;
    for (const key of await listInvalid(sql, [...this.#keys])) {
      this.#keys.delete(key);
      log.info({ key }, "clients of a key disconnected");
      expelKey(key, "its key was revoked or has expired");
    }
    const live = new Set(livePaths());
    const paths = [...this.#usedMs.keys()].filter((path) => live.has(path));
    for (const { path, isKeyGood, isNamed } of await judgePaths(sql, paths)) {
      if (isKeyGood && isNamed) continue;
      const reason = isKeyGood ? "its source or output was deleted" : "its key was revoked or has expired";
      this.#usedMs.delete(path);
      log.info({ path, reason }, "clients of a path disconnected");
      expel(path, reason);
    }
    const beforeMs = performance.now() - IDLE_MS;
    for (const [path, usedMs] of this.#usedMs) if (usedMs < beforeMs && !live.has(path)) this.#usedMs.delete(path);
  }
}

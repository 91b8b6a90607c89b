/** The media server as a whole: its hub, whom it lets in, what it records, and how it is watched. */
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { Authenticator } from "../keys/authenticate.ts";
import { findKeyIn } from "../keys/find-key.ts";
import { makeSocketFolder } from "../socket-folder.ts";
import type { Sql } from "../store/client.ts";
import { readSigningKey } from "../store/signing-key.ts";
import { Admission } from "./admission.ts";
import { type AskHub, askHubAt } from "./forward.ts";
import { MediaHub } from "./media-hub.ts";
import { Recordings } from "./recordings/recordings.ts";
import { RunTokens } from "./run-tokens.ts";
import { createSigner, type Signer } from "./sign.ts";
import { Upkeep } from "./upkeep.ts";
import { WatchedPaths } from "./watched-paths.ts";
import { WrongKeys } from "./wrong-keys.ts";

export interface MediaServerParts {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** The program of the hub. */
  readonly hubEntry: URL;
}

export interface MediaServer {
  readonly hub: MediaHub;
  readonly signer: Signer;
  readonly recordings: Recordings;
  /** For HLS and WHEP. */
  readonly ask: AskHub;
  readonly watched: WatchedPaths;
  /** Notes that a viewer at this path was admitted by a key or a signed URL. */
  readonly onKeyUsed: (path: string) => void;
  close(): Promise<void>;
}

const PREFIX = "windhover-hub-";

/** Resolves when it listens. Rejects with `HubFault`, and then nothing is left running. */
export async function openMedia(parts: MediaServerParts): Promise<MediaServer> {
  const { sql, config, log, nodeUuid } = parts;
  const signer = createSigner(await readSigningKey(sql), {
    urlSeconds: config.media.url_seconds,
    watchSeconds: config.media.watch_seconds,
  });
  let hub: MediaHub | null = null;
  const recordings = await Recordings.open({
    ...{ sql, config, log, nodeUuid },
    otherFolders: [resolve(config.data_dir, "process-recordings")],
    onAllowed: (isAllowed) => hub?.allowRecording(isAllowed),
  });
  const upkeep = new Upkeep({
    ...{ sql, log, everyMs: config.media.recheck_seconds * 1000 },
    livePaths: () => hub?.livePaths ?? [],
    expel: (path, reason) => hub?.expel(path, reason),
  });
  const onKeyUsed = (path: string): void => upkeep.noteKeyUsed(path);
  const folder = await makeSocketFolder(PREFIX);
  const httpSocket = join(folder, "http");
  const close = async (): Promise<void> => {
    await upkeep.close();
    await hub?.close();
    await recordings.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    hub = await openHub(parts, recordings, httpSocket, onKeyUsed);
  } catch (error) {
    await close();
    throw error;
  }
  // It may have changed while the hub was not there to be told.
  hub.allowRecording(recordings.trouble === null);
  recordings.follow(hub);
  const ask = askHubAt(httpSocket, config.media.answer_seconds * 1000);
  return { hub, signer, recordings, ask, watched: new WatchedPaths(sql), onKeyUsed, close };
}

async function openHub(
  { sql, config, log, hubEntry }: MediaServerParts,
  recordings: Recordings,
  httpSocket: string,
  onKeyUsed: (path: string) => void,
): Promise<MediaHub> {
  const tokens = new RunTokens();
  const wrongKeys = new WrongKeys(config.media.wrong_keys);
  let hub: MediaHub | null = null;
  const admission = new Admission({
    ...{ sql, log, tokens, wrongKeys, onKeyUsed, mostPublished: config.media.publishers_per_key },
    livePaths: () => hub?.livePaths ?? [],
    keys: new Authenticator(findKeyIn(sql, config), wrongKeys),
    sleep: () => wait(config.media.wrong_key_seconds * 1000),
    nameRecording: (subject) => recordings.name(subject),
  });
  hub = await MediaHub.open({
    ...{ config, log, tokens, recordings, entry: hubEntry },
    places: { httpSocket, recordingsFolder: recordings.folder.path },
    judge: (request) => admission.judge(request),
  });
  return hub;
}

/** `POST /video`, from the first byte to the registered source. A failed upload leaves nothing. */
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import type { Logger } from "pino";
import { Alias } from "../../schemas/api/sources.ts";
import type { Config } from "../../schemas/config.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import {
  findIdentical,
  findLargestVideo,
  type Registered,
  registerSource,
  releaseRoom,
  reserveRoom,
} from "../store/sources.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import type { VideoProbe } from "./probe.ts";
import {
  createParser,
  FORM_BYTES,
  type FormParser,
  invalid,
  readForm,
  readVideoName,
  type VideoName,
} from "./upload-form.ts";
import { diskFull, type Settling, type VideoFolder } from "./video-files.ts";

interface UploadDeps {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly folder: VideoFolder;
  readonly nodeUuid: string;
  readonly probe: VideoProbe;
  readonly settling: Settling;
}

export interface UploadCall {
  readonly user: User;
  readonly raw: IncomingMessage;
  /** Aborted when the client disconnects: then nothing is registered. */
  readonly signal: AbortSignal;
  /** All checks that do not need the body have passed. */
  letContinue(): void;
}

interface ReceivedVideo {
  readonly alias: string;
  readonly name: VideoName;
  readonly bytes: number;
  readonly digest: Buffer;
}

const checkAlias = checkBy(Alias);

export class Uploads {
  readonly #deps: UploadDeps;
  /** By user. */
  readonly #active = new Map<string, number>();
  /** Reservations that could not be released while the database was unavailable. */
  readonly #unreleased = new Set<string>();

  constructor(deps: UploadDeps) {
    this.#deps = deps;
  }

  async receive(call: UploadCall): Promise<Registered> {
    const { user } = call;
    const active = this.#active.get(user.uuid) ?? 0;
    const max = this.#deps.config.uploads.at_once;
    if (active >= max) {
      const detail = `Upload limit reached: ${active} uploads of this key are in progress, the limit is ${max}; wait for one to end`;
      throw new ServiceError("rate_limited", { detail, retryAfterSeconds: 5 });
    }
    this.#active.set(user.uuid, active + 1);
    try {
      return await this.#receive(call);
    } finally {
      const left = (this.#active.get(user.uuid) ?? 1) - 1;
      if (left === 0) this.#active.delete(user.uuid);
      else this.#active.set(user.uuid, left);
    }
  }

  async #receive(call: UploadCall): Promise<Registered> {
    const { user, raw } = call;
    const uuid = newUuid();
    const parser = createParser(raw);
    const length = raw.headers["content-length"];
    const reservation = new Reservation(this.#deps, uuid, user, length === undefined ? null : Number(length));
    const file = new PartialFile((bytes) => reservation.expect(bytes));
    try {
      await this.#release();
      await reservation.begin();
      call.letContinue();
      const video = await this.#save(uuid, raw, parser, file);
      return await this.#register(call, uuid, video, reservation);
    } finally {
      if (file.path !== null) await this.#deps.settling.settle(basename(file.path));
      this.#unreleased.add(uuid);
      await this.#release().catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, "upload reservation could not be released; the next upload retries"),
      );
    }
  }

  async #save(uuid: string, raw: IncomingMessage, parser: FormParser, file: PartialFile): Promise<ReceivedVideo> {
    const { folder, config } = this.#deps;
    const names: VideoName[] = [];
    const { alias } = await readForm(raw, parser, {
      idleMs: config.http.idle_seconds * 1000,
      leastBytes: config.uploads.least_bytes,
      savedBytes: () => file.bytes,
      save: async (stream, given) => {
        const name = readVideoName(given);
        names.push(name);
        await file.save(stream, folder.partialPath(fileNameOf(uuid, name)));
      },
    });
    const [name] = names;
    if (name === undefined) throw invalid("file", "is missing; expected a video");
    const label = alias === null || alias.trim() === "" ? name.shown : alias;
    const [fault] = checkAlias(label);
    if (fault !== undefined) throw invalid("alias", fault.message);
    return { alias: label, name, bytes: file.bytes, digest: file.digest() };
  }

  /** The row first, then the rename: the next start completes what a crash interrupts between the two. */
  async #register(
    { user, signal }: UploadCall,
    uuid: string,
    { alias, name, bytes, digest }: ReceivedVideo,
    reservation: Reservation,
  ): Promise<Registered> {
    const { sql, folder } = this.#deps;
    const identical = await findIdentical(sql, user.uuid, digest);
    if (identical !== null) return { source: identical, isNew: false };
    if (!reservation.isGranted) throw storageFull(user.limits.storageBytes);
    const fileName = fileNameOf(uuid, name);
    const facts = await this.#deps.probe.examine(folder.partialPath(fileName), signal);
    const source = {
      uuid,
      alias,
      type: "file",
      streamType: null,
      inputUrl: name.shown,
      telemetryCfg: null,
      hubPath: null,
      identity: digest,
      fileName,
      fileBytes: bytes,
      durationMs: facts.duration_ms,
    } as const;
    const registered = await sql.begin(async (transaction) => {
      const made = await registerSource(transaction, user.uuid, source, user.limits.sources);
      await releaseRoom(transaction, [uuid]);
      return made;
    });
    if (registered.isNew) await folder.keep(fileName);
    return registered;
  }

  async #release(): Promise<void> {
    const uuids = [...this.#unreleased];
    if (uuids.length === 0) return;
    await releaseRoom(this.#deps.sql, uuids);
    for (const uuid of uuids) this.#unreleased.delete(uuid);
  }
}

const fileNameOf = (uuid: string, { extension }: VideoName): string => `${uuid}.${extension}`;

/** Storage of the user and disk space that an upload may use, reserved as it grows. */
class Reservation {
  readonly #deps: Pick<UploadDeps, "sql" | "config" | "folder" | "nodeUuid">;
  readonly #uuid: string;
  readonly #user: User;
  readonly #declared: number | null;
  #granted = 0;
  /** False: the storage is full, so that only a video that is stored already can be accepted. */
  isGranted = true;

  /** @param declared length of the whole form, if known */
  constructor(deps: UploadDeps, uuid: string, user: User, declared: number | null) {
    this.#deps = deps;
    this.#uuid = uuid;
    this.#user = user;
    this.#declared = declared;
  }

  /** Before the first byte. Reserves the declared length at once. */
  async begin(): Promise<void> {
    const { videoBytes } = this.#user.limits;
    // The minimum size of the file, without fields and boundaries.
    const least = Math.max(0, (this.#declared ?? 0) - FORM_BYTES);
    if (least > videoBytes) throw tooLarge(videoBytes);
    // All of it, if possible: of two uploads that compete for the last space the first one succeeds.
    await this.#grow(least, Math.min(videoBytes, this.#declared ?? 0));
  }

  /** Rejects if the file may not have this size. */
  async expect(bytes: number): Promise<void> {
    const { videoBytes, storageBytes } = this.#user.limits;
    if (bytes > videoBytes) throw tooLarge(videoBytes);
    if (bytes <= this.#granted) return;
    if (!this.isGranted) throw storageFull(storageBytes);
    await this.#grow(bytes, Math.min(videoBytes, bytes + this.#deps.config.uploads.step_bytes));
  }

  async #grow(bytes: number, wanted: number): Promise<void> {
    const { sql, folder, nodeUuid } = this.#deps;
    const { uuid: userUuid, limits } = this.#user;
    const atMost = Math.max(bytes, Math.min(wanted, this.#declared ?? wanted));
    await folder.expectRoom(atMost - this.#granted);
    const request = { uuid: this.#uuid, userUuid, nodeUuid, atLeast: bytes, atMost, limit: limits.storageBytes };
    const granted = await reserveRoom(sql, request);
    this.isGranted = granted !== null;
    // The same video again needs no storage.
    const largest = this.#declared ?? Number.MAX_SAFE_INTEGER;
    const allowed = granted ?? (await findLargestVideo(sql, userUuid, bytes, largest));
    if (allowed === null) throw storageFull(limits.storageBytes);
    this.#granted = allowed;
  }
}

const tooLarge = (max: number): ServiceError =>
  new ServiceError("video_too_large", { detail: `the video is larger than the limit of ${max} bytes` });
const storageFull = (max: number): ServiceError =>
  new ServiceError("storage_limit_reached", {
    detail: `storage limit reached: with this video all videos of this key would exceed ${max} bytes; delete one first (DELETE /source/{source_id})`,
  });

/** A file that is written as it arrives, with its digest. */
class PartialFile {
  readonly #hash = createHash("sha256");
  readonly #expect: (bytes: number) => Promise<void>;
  /** Null before `save`. The file may exist after that. */
  path: string | null = null;
  bytes = 0;

  /** @param expect rejects if the file may not grow to this size */
  constructor(expect: (bytes: number) => Promise<void>) {
    this.#expect = expect;
  }

  /** Once, after `save`. */
  digest(): Buffer {
    return this.#hash.digest();
  }

  /** Resolves when all of it is synced to disk. */
  async save(stream: Readable, path: string): Promise<void> {
    this.path = path;
    const handle = await open(path, "wx", 0o600).catch(explainFull);
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        await this.#expect(this.bytes + chunk.length);
        this.bytes += chunk.length;
        this.#hash.update(chunk);
        await writeAll(handle, chunk).catch(explainFull);
      }
      await handle.sync().catch(explainFull);
    } finally {
      await handle.close();
    }
  }
}

async function writeAll(handle: FileHandle, chunk: Buffer): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten;
}

function explainFull(error: NodeJS.ErrnoException): never {
  throw error.code === "ENOSPC" || error.code === "EDQUOT" ? diskFull(error) : error;
}

/** Videos that are uploaded (`POST /video`) or copied, from the first byte to the registered source. A failure leaves nothing. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import type { Logger } from "pino";
import { Alias, NewVideo } from "../../schemas/api/sources.ts";
import { type SharedFiles, videoKey } from "../files/open-files.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { confirmFile } from "../store/files.ts";
import type { NewTelemetry } from "../store/source-telemetry.ts";
import { saveTelemetry } from "../store/source-telemetry.ts";
import {
  findIdentical,
  findLargestVideo,
  noteStorage,
  type Registered,
  registerSource,
  releaseRoom,
  reserveRoom,
  type SourceRow,
} from "../store/sources.ts";
import { importTelemetry } from "../telemetry/import-file.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { PartialFile } from "./partial-file.ts";
import type { VideoProbe } from "./probe.ts";
import { ReceivedTelemetry, readTelemetryForm, receiveTelemetry, type TelemetryGiven } from "./telemetry-form.ts";
import {
  createParser,
  FORM_BYTES,
  type FormParser,
  invalid,
  readForm,
  readVideoName,
  TELEMETRY_FIELD,
  type VideoName,
} from "./upload-form.ts";
import type { Settling, VideoFolder } from "./video-files.ts";
import { readRecordedAt, readTransportStream } from "./video-metadata.ts";

/** An operator sets the others (`limits`). */
const LIMITS = {
  /** Maximum number of concurrent uploads per key. */
  atOnce: 4,
  /** Minimum progress of an upload in this time. */
  idleMs: 60_000,
  leastBytes: 65_536,
  /** Step in which storage is reserved for an upload of unknown length. */
  stepBytes: 8 * 2 ** 20,
};
export type UploadLimits = Readonly<typeof LIMITS>;

interface UploadDeps {
  readonly sql: Sql;
  readonly log: Logger;
  readonly folder: VideoFolder;
  /** Null: videos stay in the folder. */
  readonly files: SharedFiles | null;
  readonly nodeUuid: string;
  readonly probe: VideoProbe;
  readonly settling: Settling;
  /** For tests. */
  readonly limits?: Partial<UploadLimits>;
}

export interface UploadCall {
  readonly user: User;
  readonly raw: IncomingMessage;
  /** Aborted when the client disconnects: then nothing is registered. */
  readonly signal: AbortSignal;
  /** All checks that do not need the body have passed. */
  letContinue(): void;
}

/** A video that the service has. */
export interface VideoCopy {
  readonly user: User;
  open(): Promise<Readable>;
  readonly sizeBytes: number;
  /** Shown as the name of the file; its extension is that of the format. */
  readonly name: string;
  readonly alias: string;
  readonly loop: boolean;
  readonly signal: AbortSignal;
}

interface ReceivedVideo {
  readonly alias: string;
  readonly loop: boolean;
  readonly name: VideoName;
  readonly bytes: number;
  readonly digest: Buffer;
  /** Null: the form has none. */
  readonly telemetry: TelemetryGiven | null;
}

const checkAlias = checkBy(Alias);

export class Uploads {
  readonly #deps: UploadDeps;
  readonly #limits: UploadLimits;
  /** By user. */
  readonly #active = new Map<string, number>();
  /** Reservations that could not be released while the database was unavailable. */
  readonly #unreleased = new Set<string>();

  constructor(deps: UploadDeps) {
    this.#deps = deps;
    this.#limits = { ...LIMITS, ...deps.limits };
  }

  receive(call: UploadCall): Promise<Registered> {
    return this.#limit(call.user, () => this.#receive(call));
  }

  /** A form with a telemetry file, which is not stored yet. */
  receiveTelemetry({ user, raw, letContinue }: UploadCall): Promise<TelemetryGiven> {
    return this.#limit(user, () => receiveTelemetry(raw, this.#limits, letContinue));
  }

  /** Rejects with `rate_limited`. */
  async #limit<T>(user: User, work: () => Promise<T>): Promise<T> {
    const active = this.#active.get(user.uuid) ?? 0;
    const max = this.#limits.atOnce;
    if (active >= max) {
      const detail = `Upload limit reached: ${active} uploads of this key are in progress, the limit is ${max}; wait for one to end`;
      throw new ServiceError("rate_limited", { detail, retryAfterSeconds: 5 });
    }
    this.#active.set(user.uuid, active + 1);
    try {
      return await work();
    } finally {
      const left = (this.#active.get(user.uuid) ?? 1) - 1;
      if (left === 0) this.#active.delete(user.uuid);
      else this.#active.set(user.uuid, left);
    }
  }

  /** Rejects like an upload. */
  copy({ user, open, sizeBytes, name: given, alias, loop, signal }: VideoCopy): Promise<Registered> {
    const name = readVideoName(given);
    return this.#limit(user, () =>
      this.#store({ user, signal }, sizeBytes, async (uuid, file) => {
        await file.save(await open(), this.#deps.folder.partialPath(fileNameOf(uuid, name)));
        return { alias, loop, name, bytes: file.bytes, digest: file.digest(), telemetry: null };
      }),
    );
  }

  #receive(call: UploadCall): Promise<Registered> {
    const { raw } = call;
    const parser = createParser(raw);
    const length = raw.headers["content-length"];
    return this.#store(call, length === undefined ? null : Number(length), (uuid, file) => {
      call.letContinue();
      return this.#save(uuid, raw, parser, file);
    });
  }

  /** @param declared length of the whole form, if known */
  async #store(
    owner: Pick<UploadCall, "user" | "signal">,
    declared: number | null,
    save: (uuid: string, file: PartialFile) => Promise<ReceivedVideo>,
  ): Promise<Registered> {
    const uuid = newUuid();
    const reservation = new Reservation(this.#deps, this.#limits, uuid, owner.user, declared);
    const file = new PartialFile((bytes) => reservation.expect(bytes));
    this.#deps.files?.expectStore();
    try {
      await this.#release();
      await reservation.begin();
      const video = await save(uuid, file);
      return await this.#register(owner, uuid, video, reservation);
    } finally {
      if (file.path !== null) await this.#deps.settling.settle(basename(file.path));
      this.#unreleased.add(uuid);
      await this.#release().catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, "upload reservation could not be released; the next upload retries"),
      );
    }
  }

  async #save(uuid: string, raw: IncomingMessage, parser: FormParser, file: PartialFile): Promise<ReceivedVideo> {
    const { folder } = this.#deps;
    const { idleMs, leastBytes } = this.#limits;
    const names: VideoName[] = [];
    const received = new ReceivedTelemetry();
    const { alias, loop, texts } = await readForm(raw, parser, {
      ...{ idleMs, leastBytes, form: NewVideo },
      savedBytes: () => file.bytes + received.bytes,
      second: {
        ...{ field: TELEMETRY_FIELD, what: "telemetry file" },
        save: (stream, given) => received.save(stream, given, TELEMETRY_FIELD),
      },
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
    const telemetry = readTelemetryForm(received, texts, `${TELEMETRY_FIELD}_`);
    if (telemetry !== null && loop) throw invalid(TELEMETRY_FIELD, LOOPED);
    return { alias: label, loop, name, bytes: file.bytes, digest: file.digest(), telemetry };
  }

  /**
   * In the folder: the row first, then the rename; the next start completes what a crash interrupts between the two. In a
   * bucket: the object first, so that any node can use the source.
   */
  async #register(
    { user, signal }: Pick<UploadCall, "user" | "signal">,
    uuid: string,
    { alias, loop, name, bytes, digest, telemetry: given }: ReceivedVideo,
    reservation: Reservation,
  ): Promise<Registered> {
    const { sql, folder, files, nodeUuid } = this.#deps;
    // The same video is another source if it loops.
    const identity = loop ? createHash("sha256").update(digest).update("loop").digest() : digest;
    const identical = await findIdentical(sql, user.uuid, identity);
    if (identical !== null) {
      if (given !== null) await saveTelemetry(sql, identical.uuid, await importFor(identical, given, signal));
      return { source: identical, isNew: false };
    }
    if (!reservation.isGranted) throw storageFull(user.limits.storageBytes);
    const fileName = fileNameOf(uuid, name);
    const facts = await this.#deps.probe.examine(folder.partialPath(fileName), user.uuid, signal);
    const recordedAt = await readRecordedAt(folder.partialPath(fileName), facts.container);
    const isStream = facts.container === "ts";
    const content = isStream ? await readTransportStream(folder.partialPath(fileName), signal) : null;
    const times = { durationMs: facts.duration_ms ?? content?.durationMs ?? null, recordedAt };
    // What is in a looped video is not stored: it belongs to one pass only.
    const found = loop ? null : (content?.telemetry ?? null);
    const telemetry = given === null ? found : await importFor(times, given, signal);
    const source = {
      uuid,
      alias,
      type: "file",
      streamType: null,
      inputUrl: name.shown,
      telemetryCfg: null,
      hubPath: null,
      identity,
      fileName,
      fileBytes: bytes,
      ...times,
      startMs: facts.start_ms,
      loop,
      video: { codec: nameCodec(facts.codec), width: facts.width, height: facts.height, fps: facts.fps },
    } as const;
    const register = (isStored: boolean): Promise<Registered> =>
      sql.begin(async (transaction) => {
        const made = await registerSource(transaction, user.uuid, source, user.limits.sources);
        if (made.isNew && isStored) await confirmFile(transaction, { key, sizeBytes: bytes, sha256: digest });
        if (made.isNew && telemetry !== null) await saveTelemetry(transaction, uuid, telemetry);
        if (made.isNew) await noteStorage(transaction, user.uuid, user.limits.storageBytes, bytes);
        await releaseRoom(transaction, [uuid]);
        return made;
      });
    const key = videoKey(fileName);
    if (files === null) {
      const registered = await register(false);
      if (registered.isNew) await folder.keep(fileName);
      return registered;
    }
    let isNew = false;
    try {
      const path = folder.partialPath(fileName);
      const file = { key, kind: "video", ownerUuid: uuid, index: 0, userUuid: user.uuid, nodeUuid } as const;
      await files.put(file, path, signal);
      const registered = await register(true);
      isNew = registered.isNew;
      if (isNew) await files.cache.adopt(fileName, path);
      return registered;
    } finally {
      // The first failure is what the client gets; rows without a source are removed with their node at the latest.
      if (!isNew) await files.discard(key).catch(() => {});
    }
  }

  async #release(): Promise<void> {
    const uuids = [...this.#unreleased];
    if (uuids.length === 0) return;
    await releaseRoom(this.#deps.sql, uuids);
    for (const uuid of uuids) this.#unreleased.delete(uuid);
  }
}

export const LOOPED = "belongs to a video that is played once; upload the video without loop";

/** Samples of a telemetry file, aligned to the video. */
export const importFor = (
  { durationMs, recordedAt }: Pick<SourceRow, "durationMs" | "recordedAt">,
  given: TelemetryGiven,
  signal: AbortSignal,
): Promise<NewTelemetry> => importTelemetry(given, { durationMs, recordedMs: recordedAt?.getTime() ?? null }, signal);

const fileNameOf = (uuid: string, { extension }: VideoName): string => `${uuid}.${extension}`;

/** Storage of the user and disk space that an upload may use, reserved as it grows. */
class Reservation {
  readonly #deps: Pick<UploadDeps, "sql" | "folder" | "files" | "nodeUuid">;
  readonly #stepBytes: number;
  readonly #uuid: string;
  readonly #user: User;
  readonly #declared: number | null;
  #granted = 0;
  /** False: the storage is full, so that only a video that is stored already can be accepted. */
  isGranted = true;

  /** @param declared length of the whole form, if known */
  constructor(deps: UploadDeps, { stepBytes }: UploadLimits, uuid: string, user: User, declared: number | null) {
    this.#deps = deps;
    this.#stepBytes = stepBytes;
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
    await this.#grow(bytes, Math.min(videoBytes, bytes + this.#stepBytes));
  }

  async #grow(bytes: number, wanted: number): Promise<void> {
    const { sql, folder, files, nodeUuid } = this.#deps;
    const { uuid: userUuid, limits } = this.#user;
    const atMost = Math.max(bytes, Math.min(wanted, this.#declared ?? wanted));
    const expectRoom = (): Promise<void> => folder.expectRoom(atMost - this.#granted);
    await (files === null ? expectRoom() : files.cache.makeRoom(expectRoom));
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

/** `h264` for GStreamer's `video/x-h264`. */
const nameCodec = (mediaType: string): string => mediaType.replace(/^video\/(?:x-)?/, "");

/** `POST /video`, from the first byte to the registered source, or to nothing at all. */
import type { IncomingMessage } from "node:http";
import { basename } from "node:path";
import type { Logger } from "pino";
import { Alias } from "../../../schemas/api/sources.ts";
import type { Config } from "../../../schemas/config.ts";
import type { VideoFacts } from "../../../schemas/probe.ts";
import { ServiceError } from "../../service-error.ts";
import type { Sql } from "../../store/client.ts";
import { findIdentical, type Registered, registerSource } from "../../store/sources.ts";
import { releaseRoom } from "../../store/uploads.ts";
import type { User } from "../../user.ts";
import { newUuid } from "../../uuid.ts";
import { checkBy } from "../../validation.ts";
import type { VideoFolder } from "../video-folder.ts";
import { createParser, type FormParser, invalid, readForm } from "./read-form.ts";
import { storageFull, UploadRoom } from "./room.ts";
import { SavedFile } from "./save-file.ts";
import { readVideoName, type VideoName } from "./video-name.ts";

export interface UploadNeeds {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly folder: VideoFolder;
  readonly nodeUuid: string;
  /** Rejects with `video_invalid`, or because the signal is aborted. */
  examine(file: string, signal: AbortSignal): Promise<VideoFacts>;
  /** Clears up behind a partial file: once it is known what has become of it, it is kept or removed. Never rejects. */
  settle(fileName: string): Promise<void>;
}

export interface UploadCall {
  readonly user: User;
  readonly raw: IncomingMessage;
  /** Aborted when the client has gone: what nobody is told of is not kept. */
  readonly signal: AbortSignal;
  /** What can be refused without the body has been. */
  letContinue(): void;
}

interface Received {
  readonly alias: string;
  readonly name: VideoName;
  readonly bytes: number;
  readonly digest: Buffer;
}

const checkAlias = checkBy(Alias);

export class Uploads {
  readonly #needs: UploadNeeds;
  /** By user. */
  readonly #active = new Map<string, number>();
  /** Room that could not be given back: the database was away. */
  readonly #unreleased = new Set<string>();

  constructor(needs: UploadNeeds) {
    this.#needs = needs;
  }

  async receive(call: UploadCall): Promise<Registered> {
    const { user } = call;
    const active = this.#active.get(user.uuid) ?? 0;
    const most = this.#needs.config.uploads.at_once;
    if (active >= most) {
      const detail = `${active} uploads of this key are under way and it may have ${most}; wait for one to end`;
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
    const room = new UploadRoom(this.#needs, uuid, user, readLength(raw));
    const file = new SavedFile((bytes) => room.expect(bytes));
    try {
      await this.#release();
      await room.begin();
      call.letContinue();
      const received = await this.#save(uuid, raw, parser, file);
      return await this.#register(call, uuid, received, room);
    } finally {
      // Removed, or to its place if it has become a source's.
      if (file.path !== null) await this.#needs.settle(basename(file.path));
      this.#unreleased.add(uuid);
      await this.#release().catch((error) => this.#warn(error));
    }
  }

  async #save(uuid: string, raw: IncomingMessage, parser: FormParser, file: SavedFile): Promise<Received> {
    const { folder, config } = this.#needs;
    const names: VideoName[] = [];
    const { alias } = await readForm(raw, parser, {
      idleMs: config.http.idle_seconds * 1000,
      leastBytes: config.uploads.least_bytes,
      takenBytes: () => file.bytes,
      take: async (stream, given) => {
        const name = readVideoName(given);
        names.push(name);
        await file.take(stream, folder.partialPath(fileNameOf(uuid, name)));
      },
    });
    const [name] = names;
    if (name === undefined) throw invalid("file", "is missing; expected a video");
    const label = alias === null || alias.trim() === "" ? name.shown : alias;
    const [fault] = checkAlias(label);
    if (fault !== undefined) throw invalid("alias", fault.message);
    return { alias: label, name, bytes: file.bytes, digest: file.digest() };
  }

  /** The row first, then the file goes to its place: what a crash leaves between the two, the next start completes. */
  async #register(
    { user, signal }: UploadCall,
    uuid: string,
    received: Received,
    room: UploadRoom,
  ): Promise<Registered> {
    const { sql, folder } = this.#needs;
    const { alias, name, bytes, digest } = received;
    const identical = await findIdentical(sql, user.uuid, digest);
    if (identical !== null) return { source: identical, isNew: false };
    if (!room.isReserved) throw storageFull(user.limits.storageBytes);
    const fileName = fileNameOf(uuid, name);
    const facts = await this.#needs.examine(folder.partialPath(fileName), signal);
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
    await releaseRoom(this.#needs.sql, uuids);
    for (const uuid of uuids) this.#unreleased.delete(uuid);
  }

  #warn(error: unknown): void {
    this.#needs.log.warn({ err: error }, "room of an upload could not be given back; the next upload does it");
  }
}

const fileNameOf = (uuid: string, { ending }: VideoName): string => `${uuid}.${ending}`;

function readLength({ headers }: IncomingMessage): number | null {
  const length = headers["content-length"];
  return length === undefined ? null : Number(length);
}

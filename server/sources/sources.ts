/** Everything that can be done with sources. */
import type { Logger } from "pino";
import type { NewStream, SourceChange, SourceRecord } from "../../schemas/api/sources.ts";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { Media } from "../media/media-hub.ts";
import { type Signer, watchUrls } from "../media/signed-urls.ts";
import { isOwnHost } from "../net/addresses.ts";
import { guardAddress } from "../net/guard.ts";
import type { Confinement } from "../processes/confinement.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { isSourcePath } from "../store/hub-paths.ts";
import type { Page, PageRequest } from "../store/page.ts";
import { deleteSource, findSource, listSources, type Registered, type SourceRow } from "../store/sources.ts";
import type { User } from "../user.ts";
import { describeSource } from "./describe-source.ts";
import { type Locate, locateStream } from "./locate-stream.ts";
import { VideoProbe } from "./probe.ts";
import { pullFromHub } from "./pull-from-hub.ts";
import { Settling } from "./settling.ts";
import { changeSource, registerStream } from "./streams.ts";
import { settleFile, sweepVideos } from "./sweep.ts";
import type { TelemetrySetting } from "./telemetry-cfg.ts";
import { type UploadCall, Uploads } from "./upload/uploads.ts";
import { VideoFolder } from "./video-folder.ts";

export interface SourcesParts {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  /** Of this machine, as the nodes of the store have it. */
  readonly nodeUuid: string;
  /** The program that looks into videos. */
  readonly probeEntry: URL;
  readonly confinement: Confinement;
  readonly media: Media;
  readonly signer: Signer;
}

/** What a process runs on. */
export interface SourceInput {
  /** The path of a file, or the address of a stream with its credentials. */
  readonly uri: string;
  readonly isFile: boolean;
  /** What clients are told of it: nothing secret. */
  readonly label: string;
  readonly telemetry: TelemetrySetting | null;
  /** The same path, or the address that may be connected to now: asked before every start of a runner. */
  readonly locate: Locate;
  /** What its name stood for when it was located, where it stays a name. */
  readonly addresses?: () => readonly string[];
  /** It is not run on any more. */
  readonly release?: () => void;
}

export class Sources {
  readonly #parts: SourcesParts;
  readonly #folder: VideoFolder;
  readonly #settling: Settling;
  readonly #uploads: Uploads;

  private constructor(parts: SourcesParts, folder: VideoFolder) {
    const { sql, config, log, probeEntry } = parts;
    this.#parts = parts;
    this.#folder = folder;
    this.#settling = new Settling((fileName) => settleFile(sql, folder, fileName), log);
    const probe = new VideoProbe(probeEntry, parts.confinement, config.uploads, log);
    this.#uploads = new Uploads({
      ...parts,
      folder,
      examine: (file, signal) => probe.examine(file, signal),
      settle: (fileName) => this.#settling.settle(fileName),
    });
  }

  /** Makes the folder of videos and clears up in it. The folder is this server's alone. */
  static async open(parts: SourcesParts): Promise<Sources> {
    const { sql, config, log } = parts;
    const folder = new VideoFolder(config.data_dir, config.disk.reserve_bytes);
    await folder.prepare();
    await sweepVideos({ sql, folder, log, isOwnDatabase: config.database.url === null });
    return new Sources(parts, folder);
  }

  close(): void {
    this.#settling.close();
  }

  upload(call: UploadCall): Promise<Registered> {
    return this.#uploads.receive(call);
  }

  /** @param publicUrl of the call: the name in it is one of ours */
  register(user: User, body: NewStream, publicUrl: string): Promise<Registered> {
    const { sql, config, media } = this.#parts;
    const { rtspPort, rtmpPort } = media;
    const hub = { rtspPort, rtmpPort, isOwnHost: (host: string) => isOwnHost(host, config, publicUrl) };
    return registerStream({ sql, config, hub }, user, body);
  }

  describe(source: SourceRow, publicUrl: string): SourceRecord {
    const { media, signer } = this.#parts;
    return describeSource(source, {
      isLive: (hubPath) => media.find(hubPath) !== null,
      watchUrls: (uuid) => watchUrls(signer, publicUrl, "source", uuid),
    });
  }

  list(user: User, request: PageRequest): Promise<Page<SourceRow>> {
    return listSources(this.#parts.sql, user.uuid, request);
  }

  find(user: User, uuid: string): Promise<SourceRow> {
    return findSource(this.#parts.sql, user.uuid, uuid);
  }

  change(user: User, uuid: string, body: SourceChange): Promise<SourceRow> {
    return changeSource(this.#parts, user, uuid, body);
  }

  /** Its file is set aside before the row is gone for good: whichever comes of it, the file follows. */
  async remove(user: User, uuid: string): Promise<void> {
    let aside: string | null = null;
    try {
      const { hubPath } = await deleteSource(this.#parts.sql, user.uuid, uuid, async ({ fileName }) => {
        aside = fileName;
        if (fileName !== null) await this.#folder.setAside(fileName);
      });
      if (hubPath !== null) await this.#leavePath(user, hubPath);
    } finally {
      if (aside !== null) await this.#settling.settle(aside);
    }
  }

  /** Whoever publishes or plays there goes, unless another source has the same path. */
  async #leavePath(user: User, hubPath: string): Promise<void> {
    const { sql, media } = this.#parts;
    if (!(await isSourcePath(sql, user.uuid, hubPath))) media.expel(hubPath, "its source was deleted");
  }

  /**
   * Rejects with `source_not_found`, `source_file_missing` or `address_refused`. Of a stream that is resumed nothing is
   * looked up before it is located: names that lead nowhere would hold up all others.
   */
  async resolveInput(userUuid: string, uuid: string, { isResumed = false } = {}): Promise<SourceInput> {
    const { sql, config } = this.#parts;
    const { type, inputUrl, fileName, hubPath, telemetryCfg: telemetry } = await findSource(sql, userUuid, uuid);
    if (hubPath !== null) return { ...pullFromHub(this.#parts.media, hubPath, maskCredentials(inputUrl)), telemetry };
    if (type === "stream") {
      const addresses = isResumed ? null : await guardAddress(inputUrl, config.network, "source_uuid");
      const located = locateStream(inputUrl, config.network, addresses);
      return { uri: inputUrl, isFile: false, label: maskCredentials(inputUrl), telemetry, ...located };
    }
    if (fileName !== null && (await this.#folder.has(fileName))) {
      const uri = this.#folder.keptPath(fileName);
      return { uri, isFile: true, label: inputUrl, telemetry, locate: async () => uri };
    }
    throw new ServiceError("source_file_missing", {
      detail: `the file of source ${uuid} is not on this machine any more; delete the source and upload it again`,
    });
  }
}

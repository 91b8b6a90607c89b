/** The real service in its own process, and a client that checks every response against the OpenAPI document. */
import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { type Serving, ServingFolder, type ServingOptions } from "../../cli/serve/serving.fixture.ts";
import { windhover } from "../../cli/windhover.fixture.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { ApiContract, type ApiDocument, type ReceivedResponse } from "./api-contract.ts";

/** Not a measurement: only turns a hang into a failure. */
const LIMIT_MS = 120_000;

export const MASTER_KEY = `wh_0123456789ab_${"A".repeat(43)}`;

/** Types of endless bodies, which are not read. */
const ENDLESS = /^(multipart\/x-mixed-replace|text\/event-stream)/;

export interface CallOptions {
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: string | FormData | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null: no key. */
  readonly key?: string | null;
}

export interface Answer<T = unknown> extends ReceivedResponse {
  readonly body: T;
}

/** Higher limits: tests send many requests, on busy machines. */
const ENV = {
  WINDHOVER_RUNNERS_START_SECONDS: "60",
  WINDHOVER_DATABASE_STATEMENT_SECONDS: "60",
  WINDHOVER_BOOTSTRAP_KEY: MASTER_KEY,
  // `call` checks them against the OpenAPI document.
  WINDHOVER_HTTP_CHECK_ANSWERS: "false",
  WINDHOVER_LIMITS_REQUESTS_PER_MINUTE: "10000000",
  WINDHOVER_LIMITS_FAILED_LOGINS_PER_MINUTE: "10000000",
};

/** Requests to a service, with a key. */
export class ServiceClient {
  readonly folder: ServingFolder;
  /** Of requests that name none. */
  readonly key: string;
  serving: Serving;
  url = "";
  contract: ApiContract = new ApiContract({ paths: {}, components: { schemas: {} } });

  protected constructor(folder: ServingFolder, serving: Serving, key: string) {
    this.folder = folder;
    this.serving = serving;
    this.key = key;
  }

  /** Of the same service, which must not be started again meanwhile. */
  as(key: string): ServiceClient {
    const client = new ServiceClient(this.folder, this.serving, key);
    client.url = this.url;
    client.contract = this.contract;
    return client;
  }

  /** Asserts that the response fits the OpenAPI document. */
  async call<T = unknown>(method: string, path: string, options: CallOptions = {}): Promise<Answer<T>> {
    const answer = await this.send(method, path, options);
    const operation = this.contract.find(method, path.split("?")[0] ?? path);
    assert.deepEqual(this.contract.check(operation, answer), [], `${method} ${path}: ${answer.text.slice(0, 1000)}`);
    const isJson = /[/+]json/.test(answer.headers.get("content-type") ?? "");
    return { ...answer, body: (isJson ? JSON.parse(answer.text) : answer.text) as T };
  }

  /** Also asserts the status. */
  async expect<T = unknown>(status: number, method: string, path: string, options: CallOptions = {}): Promise<T> {
    const answer = await this.call<T>(method, path, options);
    const logged = answer.status >= 500 ? `\nthe service logged:\n${this.serving.errors}` : "";
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text.slice(0, 1000)}${logged}`);
    return answer.body;
  }

  async send(
    method: string,
    path: string,
    { json, body, headers, key = this.key }: CallOptions,
  ): Promise<ReceivedResponse> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(LIMIT_MS),
      headers: {
        ...(key !== null && { api_key: key }),
        ...(json !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(json !== undefined ? { body: JSON.stringify(json) } : body !== undefined ? { body } : {}),
    });
    const isEndless = ENDLESS.test(response.headers.get("content-type") ?? "");
    if (isEndless) await response.body?.cancel();
    return { status: response.status, headers: response.headers, text: isEndless ? "" : await response.text() };
  }
}

export class TestService extends ServiceClient {
  readonly #options: ServingOptions;

  private constructor(folder: ServingFolder, given: ServingOptions) {
    const options = { ...given, env: { ...ENV, ...given.env } };
    super(folder, folder.serve(options), MASTER_KEY);
    this.#options = options;
  }

  static async start(options: ServingOptions = {}): Promise<TestService> {
    const service = new TestService(await ServingFolder.make(), options);
    await service.#await();
    return service;
  }

  /** Starts it again on the same data, after it has ended. */
  async startAgain(): Promise<void> {
    this.serving = this.folder.serve(this.#options);
    await this.#await();
  }

  async #await(): Promise<void> {
    try {
      this.url = await this.serving.url();
      const document = await fetch(`${this.url}/openapi.json`);
      this.contract = new ApiContract((await document.json()) as ApiDocument);
    } catch (error) {
      await this.folder.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.folder.close();
  }
}

/**
 * The first account has every feature. Without this one, none of its processes draws and encodes its video, which costs most
 * of them more than everything else.
 */
export const withoutRecordings = (service: TestService): Promise<unknown> =>
  service.expect(200, "PATCH", "/account/master", { json: { recording: false } });

/** Creates a key with the command line, while the service runs. */
export const createKey = (service: ServiceClient, name: string, ...args: readonly string[]): Promise<string> =>
  runKeys(service, "create", name, ...args);

/** The service applies it within two seconds. */
export const revokeKey = (service: ServiceClient, name: string): Promise<string> => runKeys(service, "revoke", name);

async function runKeys(service: ServiceClient, ...args: readonly string[]): Promise<string> {
  const variables = { WINDHOVER_DATA_DIR: join(service.folder.path, "data") };
  const { code, stdout, stderr } = await windhover(["keys", ...args], service.folder.path, variables);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** Uploads a file with `POST /video`. */
export async function uploadVideo(
  service: ServiceClient,
  file: string,
  { alias, key, loop }: { readonly alias?: string; readonly key?: string; readonly loop?: boolean } = {},
): Promise<SourceRecord> {
  const form = new FormData();
  if (alias !== undefined) form.set("alias", alias);
  if (loop !== undefined) form.set("loop", String(loop));
  form.set("file", await openAsBlob(file), basename(file));
  const answer = await service.call<SourceRecord>("POST", "/video", { body: form, ...(key !== undefined && { key }) });
  assert.ok(answer.status === 201 || answer.status === 200, answer.text);
  return answer.body;
}

/** Files and folders that other users of the machine may access: `0644 recordings/…`. Without PostgreSQL's private folder. */
export async function listOpenFiles(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => !name.startsWith("postgres/"));
  const modes = await Promise.all(
    names.map(async (name) => {
      // Null: removed in the meantime.
      const found = await stat(join(folder, name)).catch(() => null);
      return { name, mode: (found?.mode ?? 0) & 0o777 };
    }),
  );
  return modes.filter(({ mode }) => (mode & 0o077) !== 0).map(({ name, mode }) => `0${mode.toString(8)} ${name}`);
}

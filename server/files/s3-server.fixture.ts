/** A real S3 server with one bucket, on a port and a folder that it keeps when it is started again. */
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface S3rver {
  run(): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}

const Server = createRequire(import.meta.url)("s3rver") as new (options: object) => S3rver;

export const BUCKET = "windhover-test";
/** Credentials of the server. */
const KEYS = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER" };

export class TestS3 {
  readonly #folder: string;
  #server: S3rver | null = null;
  port = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async start(): Promise<TestS3> {
    const s3 = new TestS3(await mkdtemp(join(tmpdir(), "windhover-s3-")));
    await s3.startAgain();
    Object.assign(process.env, KEYS);
    return s3;
  }

  async startAgain(): Promise<void> {
    const options = { address: "127.0.0.1", port: this.port, silent: true, directory: this.#folder };
    this.#server = new Server({ ...options, configureBuckets: [{ name: BUCKET }] });
    this.port = (await this.#server.run()).port;
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    this.#server = null;
  }

  get settings() {
    const endpoint = `http://127.0.0.1:${this.port}`;
    return { endpoint, bucket: BUCKET, region: "us-east-1", prefix: "test", path_style: true };
  }

  /** For a service: with the credentials. */
  get env(): NodeJS.ProcessEnv {
    return { ...KEYS, ...prefixed(this.variables) };
  }

  /** For `makeConfig`. */
  get variables(): Readonly<Record<string, string>> {
    const { endpoint, bucket, prefix } = this.settings;
    return {
      ...{ STORAGE_S3_ENDPOINT: endpoint, STORAGE_S3_BUCKET: bucket, STORAGE_S3_PREFIX: prefix },
      STORAGE_S3_PATH_STYLE: "true",
    };
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const prefixed = (variables: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => [`WINDHOVER_${name}`, value]));

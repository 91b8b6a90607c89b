/** An upload that stops in the middle until it is told to go on. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type ClientRequest, request } from "node:http";
import { join } from "node:path";
import { MASTER_KEY, type TestService } from "../api/service.fixture.ts";

const BOUNDARY = "----half-and-half";

export interface UploadOutcome {
  /** Null: the connection was lost. */
  readonly status: number | null;
  readonly text: string;
}

export class SlowUpload {
  readonly outcome: Promise<UploadOutcome>;
  readonly #request: ClientRequest;
  readonly #rest: Buffer;

  private constructor(url: string, file: string) {
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="slow.mp4"\r\nContent-Type: video/mp4\r\n\r\n`;
    const bytes = readFileSync(file);
    const half = bytes.length >> 1;
    this.#rest = Buffer.concat([bytes.subarray(half), Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
    this.#request = request(`${url}/video`, {
      method: "POST",
      agent: false,
      headers: { api_key: MASTER_KEY, "Content-Type": `multipart/form-data; boundary=${BOUNDARY}` },
    });
    this.outcome = new Promise((resolve) => {
      this.#request.setTimeout(120_000, () => this.#request.destroy(new Error("no answer to the upload")));
      this.#request.on("error", (error) => resolve({ status: null, text: error.message }));
      this.#request.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("close", () => resolve({ status: response.complete ? (response.statusCode ?? null) : null, text }));
      });
    });
    this.#request.write(Buffer.concat([Buffer.from(head), bytes.subarray(0, half)]));
  }

  /** Resolves when half of the file is there. */
  static async begin(service: TestService, file: string): Promise<SlowUpload> {
    const upload = new SlowUpload(service.url, file);
    let isOver = false;
    void upload.outcome.then(() => {
      isOver = true;
    });
    while (listPartial(service).length === 0 && !isOver) await new Promise((resolve) => setTimeout(resolve, 20));
    return upload;
  }

  finish(): Promise<UploadOutcome> {
    this.#request.end(this.#rest);
    return this.outcome;
  }
}

const listFiles = (...folder: readonly string[]): readonly string[] =>
  existsSync(join(...folder))
    ? readdirSync(join(...folder), { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []))
    : [];

/** Files of uploads that are under way. */
export const listPartial = ({ folder }: TestService) => listFiles(folder.path, "data", "videos", "partial");

/** Files of videos that are sources. */
export const listKept = ({ folder }: TestService) => listFiles(folder.path, "data", "videos");

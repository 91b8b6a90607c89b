/** `--patches DIR`: pictures that come with notices, as files. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonRecord } from "../../schemas/json.ts";
import { CommandFailure } from "../command.ts";

export class PatchFolder {
  readonly #folder: string;
  #count = 0;

  /** Throws `CommandFailure` where there can be no such folder. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#try(() => mkdirSync(folder, { recursive: true }));
  }

  get count(): number {
    return this.#count;
  }

  /** The notice with the name of a file in place of the picture; as it is where it has none. */
  keep(body: JsonRecord, alias: string): JsonRecord {
    const { patch, ...data } = (body.data ?? {}) as JsonRecord;
    if (typeof patch !== "object" || patch === null || !("image" in patch)) return body;
    const { image, ...rest } = patch as JsonRecord;
    this.#count += 1;
    const number = String(this.#count).padStart(4, "0");
    const file = `${number}-${nameOf(alias)}-track-${data.track_id}.jpg`;
    this.#try(() => writeFileSync(join(this.#folder, file), Buffer.from(String(image), "base64")));
    return { ...body, data: { ...data, patch: { file, ...rest } } };
  }

  #try(act: () => void): void {
    try {
      act();
    } catch (cause) {
      throw new CommandFailure(`--patches ${this.#folder} cannot be written: ${(cause as Error).message}`, { cause });
    }
  }
}

/** An alias may be anything; the name of a file may not. */
const nameOf = (alias: string): string =>
  alias
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40)
    .toLowerCase() || "alert";

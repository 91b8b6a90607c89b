/**
 * Models that users upload: checked, then stored in the database, so that every node has them. A node writes the files of a
 * model into its folder when a process runs it.
 */

import { createReadStream } from "node:fs";
import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join, resolve } from "node:path";
import type { UsableModel } from "../../graphs/compiler/restrict.ts";
import { NewModel } from "../../schemas/api/models.ts";
import type { Config } from "../../schemas/config.ts";
import type { ModelFiles } from "../../schemas/runner.ts";
import { makePrivateFolder } from "../data-folder.ts";
import { ServiceError } from "../service-error.ts";
import { PartialFile } from "../sources/partial-file.ts";
import { CARD_FIELD, createParser, FILE_FIELD, invalid, readForm } from "../sources/upload-form.ts";
import type { Sql } from "../store/client.ts";
import {
  deleteModel,
  findModel,
  findModelUuids,
  insertModel,
  listModels,
  listUsableModels,
  type ModelRow,
  readModelFile,
} from "../store/models.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import type { ModelChecker } from "./check-model.ts";

export const modelFolder = (dataDir: string): string => resolve(dataDir, "models");

/** Of an upload: at least this much must arrive in this time. */
const UPLOAD = { idleMs: 60_000, leastBytes: 65_536 };
/** A card with a thousand labels has 20 kB. */
const CARD_BYTES = 2 ** 18;
/** Uploads, in the folder of models. The next start empties it. */
const PARTIAL = "partial";

interface OwnModelsDeps {
  readonly sql: Sql;
  readonly config: Pick<Config, "data_dir" | "models">;
  readonly checker: ModelChecker;
  /** Names of the installed models. */
  installedNames(): Promise<readonly string[]>;
}

interface UploadCall {
  readonly user: User;
  readonly raw: IncomingMessage;
  readonly signal: AbortSignal;
  letContinue(): void;
}

export class OwnModels {
  readonly #deps: OwnModelsDeps;
  readonly #folder: string;
  /** Users whose upload is in progress: one at a time. */
  readonly #uploading = new Set<string>();
  /** Models whose files are being written. */
  readonly #writing = new Map<string, Promise<ModelFiles>>();

  private constructor(deps: OwnModelsDeps) {
    this.#deps = deps;
    this.#folder = modelFolder(deps.config.data_dir);
  }

  /** Removes what uploads and deletions have left. */
  static async open(deps: OwnModelsDeps): Promise<OwnModels> {
    const models = new OwnModels(deps);
    const folder = models.#folder;
    await makePrivateFolder(folder);
    await rm(join(folder, PARTIAL), { recursive: true, force: true });
    await makePrivateFolder(join(folder, PARTIAL));
    const kept = (await readdir(folder)).filter((name) => name !== PARTIAL);
    const known = await findModelUuids(deps.sql, kept);
    for (const name of kept) if (!known.has(name)) await rm(join(folder, name), { recursive: true, force: true });
    return models;
  }

  /** By name. */
  list({ uuid }: Pick<User, "uuid">): Promise<readonly ModelRow[]> {
    return listModels(this.#deps.sql, uuid);
  }

  listUsable(userUuid: string): Promise<readonly UsableModel[]> {
    return listUsableModels(this.#deps.sql, userUuid);
  }

  /**
   * Rejects with `model_invalid`, `model_too_large`, `model_name_taken` or `models_limit_reached`. `isNew` false: the same
   * model is stored already.
   */
  async upload(call: UploadCall): Promise<{ readonly row: ModelRow; readonly isNew: boolean }> {
    const { user } = call;
    if (this.#uploading.has(user.uuid))
      throw new ServiceError("rate_limited", {
        ...{ detail: "another model of this key is being uploaded; wait for it to end", retryAfterSeconds: 5 },
      });
    this.#uploading.add(user.uuid);
    const folder = join(this.#folder, PARTIAL, newUuid());
    try {
      await mkdir(folder, { mode: 0o711 });
      return await this.#receive(call, folder);
    } finally {
      this.#uploading.delete(user.uuid);
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #receive({ user, raw, signal, letContinue }: UploadCall, folder: string) {
    const { sql, config, checker } = this.#deps;
    const parser = createParser(raw);
    const file = new PartialFile(async (bytes) => expectSize(bytes, config.models.bytes, "model"));
    const card = new PartialFile(async (bytes) => expectSize(bytes, CARD_BYTES, "card"));
    const [weightsPath, cardPath] = [join(folder, "model.onnx"), join(folder, "card.yaml")];
    letContinue();
    await readForm(raw, parser, {
      ...{ ...UPLOAD, form: NewModel, what: "model", savedBytes: () => file.bytes + card.bytes },
      save: (stream) => file.save(stream, weightsPath),
      second: { field: CARD_FIELD, what: "card", save: (stream) => card.save(stream, cardPath) },
    });
    if (file.path === null) throw invalid(FILE_FIELD, "is missing; expected a model (ONNX)");
    if (card.path === null) throw invalid(CARD_FIELD, "is missing; expected the card of the model (YAML)");
    const checked = await checker.check(cardPath, weightsPath, user.uuid, signal);
    const name = String(checked.card.model);
    if ((await this.#deps.installedNames()).includes(name))
      throw new ServiceError("model_name_taken", {
        detail: `"${name}" is an installed model; give yours another name in its card (\`model:\`).`,
      });
    const model = {
      ...{ uuid: newUuid(), userUuid: user.uuid, name, author: user.username, ...checked },
      ...{ digest: file.digest().toString("hex"), sizeBytes: file.bytes },
    };
    return insertModel(sql, model, createReadStream(weightsPath), config.models.per_key);
  }

  /** Rejects with `model_not_found`, or with `model_in_use` while a process runs it. */
  async delete(user: User, name: string): Promise<void> {
    const uuid = await deleteModel(this.#deps.sql, user.uuid, name);
    if (uuid === null)
      throw new ServiceError("model_not_found", {
        detail: `You have not uploaded a model "${name}"; GET /models lists yours.`,
      });
    // Other nodes remove their files with their next start.
    await rm(join(this.#folder, uuid), { recursive: true, force: true });
  }

  /** The files of these models on this node, by name. Rejects with `model_not_found`. */
  async open(userUuid: string, names: readonly string[]): Promise<Readonly<Record<string, ModelFiles>>> {
    const files: Record<string, ModelFiles> = {};
    for (const name of names) {
      const row = await findModel(this.#deps.sql, userUuid, name);
      if (row === null)
        throw new ServiceError("model_not_found", { detail: `The model "${name}" of this process is deleted.` });
      files[name] = await this.#openFiles(row);
    }
    return files;
  }

  #openFiles(row: ModelRow): Promise<ModelFiles> {
    const writing = this.#writing.get(row.uuid) ?? this.#writeFiles(row);
    this.#writing.set(row.uuid, writing);
    void writing.catch(() => {}).finally(() => this.#writing.delete(row.uuid));
    return writing;
  }

  /** A folder is complete when it has its name. */
  async #writeFiles({ uuid, name, digest, card }: ModelRow): Promise<ModelFiles> {
    const folder = join(this.#folder, uuid);
    const weights = `${digest}.onnx`;
    const files = { card: join(folder, `${name}.yaml`), weights: join(folder, weights) };
    const isThere = await stat(files.card).catch(() => null);
    if (isThere !== null) return files;
    const partial = join(this.#folder, PARTIAL, newUuid());
    try {
      await mkdir(partial, { mode: 0o711 });
      await writeFile(join(partial, weights), readModelFile(this.#deps.sql, uuid));
      // JSON is YAML.
      await writeFile(join(partial, `${name}.yaml`), JSON.stringify({ ...card, sources: [{ path: weights }] }));
      await rm(folder, { recursive: true, force: true });
      await rename(partial, folder);
      return files;
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
  }
}

function expectSize(bytes: number, limit: number, what: string): void {
  if (bytes > limit)
    throw new ServiceError("model_too_large", { detail: `the ${what} is larger than the limit of ${limit} bytes` });
}

/** Graphs that users store themselves: checked, then kept in versions that never change. */
import { createHash } from "node:crypto";
import type { UsableModel } from "../../graphs/compiler/restrict.ts";
import type { DescribedOwn } from "../../graphs/compiler/worker/messages.ts";
import type { Config } from "../../schemas/config.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { ServiceError } from "../service-error.ts";
import type { Queries, Sql } from "../store/client.ts";
import {
  type BasesNow,
  deleteGraph,
  findGraph,
  type GraphVersionRow,
  graphNotFound,
  listGraphs,
  listGraphVersions,
  storeGraph,
} from "../store/graphs.ts";
import type { Page, PageRequest } from "../store/page.ts";
import type { User } from "../user.ts";
import { type GraphLibrary, invalidGraph } from "./library.ts";
import { showSummary } from "./records.ts";

interface OwnGraphsDeps {
  readonly sql: Sql;
  readonly library: Pick<GraphLibrary, "names" | "describeOwn" | "digests">;
  readonly config: Pick<Config, "graphs">;
  /** Names of models that the user has uploaded. */
  listModels(userUuid: string): Promise<readonly UsableModel[]>;
}

export class OwnGraphs {
  readonly #deps: OwnGraphsDeps;

  constructor(deps: OwnGraphsDeps) {
    this.#deps = deps;
  }

  /** The current versions, by name. */
  list(user: User): Promise<readonly GraphVersionRow[]> {
    return listGraphs(this.#deps.sql, user.uuid);
  }

  /** Null: the user has none of this name. `version` null: the current one. */
  find(user: User, name: string, version: number | null = null): Promise<GraphVersionRow | null> {
    return findGraph(this.#deps.sql, user.uuid, name, version);
  }

  /** Compiled now. Its faults are in the result. */
  async describe(
    { uuid: userUuid }: User,
    { name, yaml }: Pick<GraphVersionRow, "name" | "yaml">,
    signal: AbortSignal,
  ): Promise<DescribedOwn> {
    const { library, listModels } = this.#deps;
    return library.describeOwn(name, yaml, { userUuid, signal, ownModels: await listModels(userUuid) });
  }

  /** Rejects with `graph_not_found`. Newest first, with the digests that their bases have now. */
  async listVersions(user: User, name: string, request: PageRequest): Promise<Page<GraphVersionRow & BasesNow>> {
    const { sql, library } = this.#deps;
    if ((await this.find(user, name)) === null) throw graphNotFound(name, null);
    const page = await listGraphVersions(sql, user.uuid, name, request);
    const basesNow = await library.digests([...new Set(page.rows.flatMap(({ bases }) => Object.keys(bases ?? {})))]);
    return { ...page, rows: page.rows.map((row) => ({ ...row, basesNow })) };
  }

  /**
   * A text that is stored already is not stored again, but becomes the current version, with its bases as they are now.
   * Rejects with
   * `graph_author_needed`, `graph_name_taken`, `graphs_limit_reached`, and with `invalid_input` and every fault of the graph.
   */
  async store(
    user: User,
    name: string,
    text: string,
    signal: AbortSignal,
  ): Promise<{ readonly row: GraphVersionRow; readonly isNew: boolean }> {
    const { sql, config } = this.#deps;
    const { text_bytes: maxBytes, stored_per_key: graphs, versions_per_graph: versions } = config.graphs;
    const yaml = canonicalText(text);
    const bytes = Buffer.byteLength(yaml);
    if (bytes > maxBytes)
      throw new ServiceError("body_too_large", {
        detail: `The graph has ${bytes} bytes; expected up to ${maxBytes}.`,
      });
    await this.#expectFreeName(user, name);
    const described = await this.describe(user, { name, yaml }, signal);
    if (described.faults.length > 0) throw invalidGraph(name, { params: [], graph: described.faults }, null);
    const digest = createHash("sha256").update(yaml).digest("hex");
    const summary = showSummary(described) as unknown as JsonRecord;
    const { bases } = described;
    const version = { userUuid: user.uuid, name, digest, yaml, summary, bases, author: user.username };
    return storeGraph(sql, version, { graphs, versions });
  }

  /** With all its versions. Rejects with `graph_not_found`, or with `graph_in_use` while a process runs it. */
  async delete(user: User, name: string): Promise<void> {
    if (!(await deleteGraph(this.#deps.sql, user.uuid, name))) throw graphNotFound(name, null);
  }

  /** A graph that was stored before the operator installed one of its name keeps the name. */
  async #expectFreeName(user: User, name: string): Promise<void> {
    const installed = await this.#deps.library.names();
    if (!installed.includes(name) || (await this.find(user, name)) !== null) return;
    throw new ServiceError("graph_name_taken", {
      detail: `"${name}" is an installed graph; store yours under another name, such as "my-${name}" with \`extends: ${name}\`.`,
    });
  }
}

/** Line ends as LF, one at the end, no byte order mark: editors and shells differ in these. */
export function canonicalText(given: string): string {
  const text = given.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  let end = text.length;
  while (text[end - 1] === "\n") end -= 1;
  return `${text.slice(0, end)}\n`;
}

/** What `graph` of a start names. */
export interface ChosenGraph {
  readonly graph: string;
  /** Of a stored graph; an installed one has none. */
  readonly graphText?: string;
  readonly graphVersion?: number;
}

const REFERENCE = /^([^@]+)@([1-9]\d{0,8})$/;

/**
 * `NAME`, or `NAME@VERSION` for a version of a stored graph. One that the user has stored comes before an installed one.
 * Rejects with `graph_not_found` for an unknown version; an unknown name is left to the compiler.
 */
export async function chooseGraph(sql: Queries, userUuid: string, reference: string): Promise<ChosenGraph> {
  const [, named = reference, number] = REFERENCE.exec(reference) ?? [];
  const version = number === undefined ? null : Number(number);
  const row = await findGraph(sql, userUuid, named, version);
  if (row !== null) return { graph: named, graphText: row.yaml, graphVersion: row.version };
  if (version !== null) throw graphNotFound(named, version);
  return { graph: named };
}

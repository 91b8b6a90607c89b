/**
 * Changes a process to another version of its graph: while PLAYING if that is possible, else with another runner. When the
 * version does not run, the process continues with the one before, which is what is stored until then.
 */
import { isDeepStrictEqual } from "node:util";
import { NoReply, RequestRejected } from "../../ipc/channel.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import type { ChangeResult } from "../../schemas/runner.ts";
import { TIMED_OUT, withTimeout } from "../async/timing.ts";
import type { GraphOrder } from "../graphs/library.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findGraph, type GraphVersionRow, graphNotFound } from "../store/graphs.ts";
import type { LiveProperties, ProcessRow } from "../store/processes.ts";
import type { Attachments } from "./attachments.ts";
import type { Commands } from "./commands.ts";
import { wrongState } from "./errors.ts";
import type { GraphSetting, ProcessRecord } from "./process-record.ts";
import type { ProcessInput, ProcessLimits, ProcessOffers, UpgradeAnswer, UpgradeOrder } from "./processes.ts";
import type { Runner, RunnerLink } from "./runner.ts";
import type { RunnerCommand } from "./runner-folders.ts";

/** A pipeline may fail after its first frame was decoded. */
const CONFIRM_MS = 1_000;

interface UpgradeDeps {
  readonly row: ProcessRow;
  readonly input: ProcessInput;
  readonly sql: Sql;
  readonly record: ProcessRecord;
  readonly link: RunnerLink;
  readonly attachments: Attachments;
  readonly commands: Pick<Commands, "whileLive">;
  readonly limits: Pick<ProcessLimits, "startMs" | "stopMs">;
  /** Rejects with `invalid_input` when the graph does not accept the values. */
  prepare(order: GraphOrder): Promise<ProcessOffers & { readonly params: JsonRecord }>;
}

/** A version that another runner is launched with. */
interface Relaunch {
  readonly version: number;
  readonly previousVersion: number;
  readonly abort: AbortController;
  readonly timer: NodeJS.Timeout;
  resolve(): void;
  reject(error: Error): void;
}

export class Upgrades {
  readonly #deps: UpgradeDeps;
  #relaunch: Relaunch | null = null;
  /** The runner ends, or has ended, because another version is launched. */
  #isRunnerReplaced = false;

  constructor(deps: UpgradeDeps) {
    this.#deps = deps;
  }

  /** Resolves when the version runs, or with what it would change. */
  async run(order: UpgradeOrder): Promise<UpgradeAnswer> {
    const { commands, record } = this.#deps;
    const { answer, done } = await commands.whileLive("upgraded", () => this.#change(order));
    if (done === null) return answer;
    await done;
    await record.saveForClient();
    return answer;
  }

  /** Aborted when a launched version takes too long. */
  get signal(): AbortSignal | null {
    return this.#relaunch?.abort.signal ?? null;
  }

  /** Once per replaced runner: another one follows at once, and its end is not a fault. */
  takeReplaced(): boolean {
    const isReplaced = this.#isRunnerReplaced;
    this.#isRunnerReplaced = false;
    return isReplaced;
  }

  /** A runner is set up: an upgrade is done when that processes frames. Never rejects. */
  async confirm({ ended }: Pick<Runner, "ended">): Promise<void> {
    if (this.#relaunch === null) return;
    const end = await withTimeout(CONFIRM_MS, ended);
    if (end !== TIMED_OUT && "detail" in end) this.noteFailed(end.detail);
    else this.#settle()?.resolve();
  }

  /** No runner could be launched or set up, or the process has ended: what was before the upgrade counts again. */
  noteFailed(reason: string): void {
    const { record } = this.#deps;
    const { before } = record;
    const relaunch = this.#settle();
    if (relaunch === null) return;
    if (before !== null) record.adopt(before);
    this.#isRunnerReplaced = true;
    const { version, previousVersion, abort } = relaunch;
    const cause = abort.signal.aborted ? "no frame was processed in time" : reason;
    relaunch.reject(doesNotRun(version, previousVersion, cause));
  }

  #settle(): Relaunch | null {
    const relaunch = this.#relaunch;
    this.#relaunch = null;
    this.#deps.record.before = null;
    clearTimeout(relaunch?.timer);
    return relaunch;
  }

  async #change({ version, isDryRun }: UpgradeOrder): Promise<{ answer: UpgradeAnswer; done: Promise<void> | null }> {
    const { record, link, attachments } = this.#deps;
    if (this.#relaunch !== null) throw wrongState("restarting", "upgraded", []);
    const { before, after } = await this.#find(version);
    const { params, ...offers } = await this.#prepare(before, after);
    attachments.expectAttachable(offers);
    const supplied = attachments.supplied.valuesFor(offers);
    const { yaml: graphText } = after;
    const request = { type: "change", graphText, params, live: record.live, supplied, isDryRun } as const;
    const { changes, live } = isDryRun
      ? ((await link.request(request)) as ChangeResult)
      : await this.#request(request, version, before.version);
    const answer = { version, previousVersion: before.version, changes, params };
    if (isDryRun) return { answer, done: null };
    const setting = { graph: { ...offers, text: graphText, version }, params, live: live as LiveProperties };
    if (changes.some(({ label }) => label === "relaunch"))
      return { answer, done: this.#launch(setting, before.version, version) };
    record.adopt(setting);
    attachments.supplied.noteSent(supplied);
    await attachments.feed.sync();
    await record.saveForClient();
    return { answer, done: null };
  }

  /** A runner that ends by the change is replaced by one with the version before. */
  async #request(command: RunnerCommand, version: number, previousVersion: number): Promise<ChangeResult> {
    this.#isRunnerReplaced = true;
    try {
      const result = (await this.#deps.link.request(command)) as ChangeResult;
      this.#isRunnerReplaced = false;
      return result;
    } catch (error) {
      const { cause } = error as Error;
      const hasEnded = cause instanceof RequestRejected ? cause.kind === "failed" : cause instanceof NoReply;
      this.#isRunnerReplaced = hasEnded;
      throw hasEnded ? doesNotRun(version, previousVersion, (cause as Error).message) : error;
    }
  }

  /** Rejects with `graph_not_found`. */
  async #find(version: number): Promise<{ readonly before: GraphVersionRow; readonly after: GraphVersionRow }> {
    const { sql, row, record } = this.#deps;
    const { version: current } = record.graph;
    if (current === null)
      throw new ServiceError("graph_not_found", {
        detail: `The graph "${row.graph}" of this process has no versions; only graphs that you have stored (PUT /graphs/{name}) have.`,
      });
    const find = async (wanted: number): Promise<GraphVersionRow> => {
      const found = await findGraph(sql, row.userUuid, row.graph, wanted);
      if (found === null) throw graphNotFound(row.graph, wanted);
      return found;
    };
    return { before: await find(current), after: await find(version) };
  }

  async #prepare(before: GraphVersionRow, after: GraphVersionRow) {
    const { row, input, record, prepare } = this.#deps;
    const given = carryParams(record.params, schemaOf(before), schemaOf(after));
    const { params, offers, slots, alertNode, models } = await prepare({
      ...{ graph: row.graph, graphText: after.yaml, userUuid: row.userUuid, params: given, given: {} },
      ...{ sourceUri: input.uri, sourceLoops: input.loops ?? false },
    });
    return { params, offers, slots, alertNode: alertNode ?? null, models: models ?? [] };
  }

  /** Ends the runner; the next one has the new version. */
  #launch(setting: GraphSetting, previousVersion: number, version: number): Promise<void> {
    const { record, link, limits } = this.#deps;
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), limits.stopMs + limits.startMs);
    const done = new Promise<void>((resolve, reject) => {
      this.#relaunch = { version, previousVersion, abort, timer, resolve, reject };
    });
    this.#isRunnerReplaced = true;
    record.before = record.setting;
    record.adopt(setting);
    void link.runner?.stop();
    return done;
  }
}

const doesNotRun = (version: number, previousVersion: number, reason: string): ServiceError =>
  new ServiceError("pipeline_failed", {
    detail: `version ${version} does not run: ${maskCredentials(reason)}; the process continues with version ${previousVersion}`,
  });

type Schema = Readonly<Record<string, JsonRecord>>;

/** Of the params, by name. */
const schemaOf = ({ summary }: GraphVersionRow): Schema =>
  ((summary.params as JsonRecord | undefined)?.properties ?? {}) as Schema;

/** Values that were given stay, as far as the next version has their param; others get its defaults. */
export function carryParams(params: JsonRecord, before: Schema, after: Schema): JsonRecord {
  return Object.fromEntries(
    Object.entries(params).filter(
      ([name, value]) => Object.hasOwn(after, name) && !isDeepStrictEqual(value, before[name]?.default),
    ),
  );
}

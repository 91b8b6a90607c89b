/** Which processes are recorded at the moment, as their users have set it. */
import type { Logger } from "pino";
import { Poller } from "../async/poller.ts";
import type { Sql } from "../store/client.ts";
import { listProcessModes } from "../store/rings.ts";

/** Changes by another node are read within this time; this node reads its own at once. */
const REFRESH_MS = 10_000;

export class RecordingModes {
  readonly #sql: Sql;
  readonly #refreshing: Poller;
  #unwanted: ReadonlySet<string> = new Set();

  private constructor(sql: Sql, log: Logger) {
    this.#sql = sql;
    this.#refreshing = new Poller(async () => {
      await this.refresh().catch((error: unknown) => log.warn({ err: error }, "recording modes not read; retrying"));
      return REFRESH_MS;
    });
    this.#refreshing.start(REFRESH_MS);
  }

  static async open(sql: Sql, log: Logger): Promise<RecordingModes> {
    const modes = new RecordingModes(sql, log);
    await modes.refresh();
    return modes;
  }

  isWanted(processUuid: string): boolean {
    return !this.#unwanted.has(processUuid);
  }

  async refresh(): Promise<void> {
    const rows = await listProcessModes(this.#sql);
    this.#unwanted = new Set(rows.filter(({ isWanted }) => !isWanted).map(({ processUuid }) => processUuid));
  }

  close(): Promise<void> {
    return this.#refreshing.close();
  }
}

/** Applies the stored calibrations of sources to the processes of this node, when they start and when they change. */
import type { Logger } from "pino";
import { Poller } from "../async/poller.ts";
import type { Process } from "../processes/process.ts";
import { listCalibrations } from "../store/calibrations.ts";
import type { Sql } from "../store/client.ts";

/** Interval for changes that another node has made; those of this node are applied at once. */
const REFRESH_MS = 2_000;

export class Calibrations {
  readonly #deps: { readonly sql: Sql; readonly log: Logger };
  /** Those that receive telemetry. */
  readonly #processes = new Set<Process>();
  readonly #refreshing = new Poller(async () => {
    await this.#tryRefresh();
    return REFRESH_MS;
  });

  constructor(deps: { readonly sql: Sql; readonly log: Logger }) {
    this.#deps = deps;
    this.#refreshing.start(REFRESH_MS);
  }

  follow(process: Process): void {
    if (process.record.telemetry === null) return;
    this.#processes.add(process);
    void process.ended.then(() => this.#processes.delete(process));
    void this.#tryRefresh();
  }

  /** Resolves when the processes of this node have the calibrations of the database. */
  async refresh(): Promise<void> {
    const processes = [...this.#processes];
    if (processes.length === 0) return;
    const rows = await listCalibrations(
      this.#deps.sql,
      processes.map(({ row }) => row.sourceUuid),
    );
    for (const { row: process, record } of processes) {
      const row = rows.find(({ sourceUuid }) => sourceUuid === process.sourceUuid);
      record.telemetry?.calibrate(
        row === undefined ? null : { offset: row.headingOffsetDeg, error: row.headingErrorDeg },
      );
    }
  }

  async flush(): Promise<void> {}

  close(): Promise<void> {
    return this.#refreshing.close();
  }

  async #tryRefresh(): Promise<void> {
    await this.refresh().catch((error: unknown) =>
      this.#deps.log.warn({ err: error }, "calibrations not read; retrying"),
    );
  }
}

/** What alerts find, as the notices that the service would make of it. */
import type { AlertFinding } from "../../schemas/alerts.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { describeEvent } from "../../server/alerts/alert-writer.ts";
import { NO_UUID, uuidOf } from "./identify.ts";
import type { PatchFolder } from "./patches.ts";
import type { ReplayedAlert } from "./read-alerts.ts";
import type { Noticing } from "./virtual-time.ts";

export class Notices implements Noticing {
  readonly #alerts: readonly ReplayedAlert[];
  readonly #patches: PatchFolder | null;
  readonly #rows: ReadonlyMap<string, number>;
  readonly #counts: number[];

  /** Rows are in the order of the alerts. */
  constructor(alerts: readonly ReplayedAlert[], patches: PatchFolder | null) {
    this.#alerts = alerts;
    this.#patches = patches;
    this.#rows = new Map(alerts.map(({ uuid }, row) => [uuid, row]));
    this.#counts = alerts.map(() => 0);
  }

  /** Findings of others are of rules that the graph itself has. */
  notice(finding: AlertFinding): { readonly row: number; readonly body: JsonRecord } | null {
    const row = this.#rows.get(finding.alert);
    const alert = row === undefined ? undefined : this.#alerts[row];
    if (row === undefined || alert === undefined) return null;
    const count = (this.#counts[row] ?? 0) + 1;
    this.#counts[row] = count;
    const id = uuidOf("notice", alert.uuid, String(count));
    const origin = { id, alias: alert.alias, processUuid: NO_UUID, sourceUuid: NO_UUID };
    const body = describeEvent(finding, origin) as unknown as JsonRecord;
    return { row, body: this.#patches?.keep(body, alert.alias) ?? body };
  }
}

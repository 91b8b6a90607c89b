/** Alerts as clients see them. */

import type { AlertTypeDefinition } from "../../schemas/alerts.ts";
import type { AlertDelivery, AlertDescription, AlertRecord } from "../../schemas/api/alerts.ts";
import type { Delivery, DeliveryStanding } from "../delivery/delivery.ts";
import type { AlertRow, AlertSetting, StoredOutput } from "../store/alerts.ts";
import type { Queries } from "../store/client.ts";
import type { WholeConfiguration } from "./configuration.ts";
import { showOutput } from "./outputs.ts";

type Standings = ReadonlyMap<string, DeliveryStanding>;

const NONE: ReadonlySet<string> = new Set();

/** `shown`: outputs whose secrets are shown this once. */
export async function describeAlerts(
  sql: Queries,
  delivery: Pick<Delivery, "standings">,
  rows: readonly AlertRow[],
  shown: ReadonlySet<string> = NONE,
): Promise<AlertRecord[]> {
  const uuids = rows.flatMap((row) => (row.running ?? row).output.map(({ uuid }) => uuid));
  const standings = await delivery.standings(sql, [...new Set(uuids)]);
  return rows.map((row) => describe(row, standings, shown));
}

function describe(row: AlertRow, standings: Standings, shown: ReadonlySet<string>): AlertRecord {
  const { uuid, alias, type, status, running, processUuid, createdAt } = row;
  const current: AlertSetting = running ?? row;
  return {
    ...{ uuid, alert_uuid: uuid, alias, type, status },
    ...describeSetting(current, shown),
    pending: running === null ? null : describeSetting(row, shown),
    process_uuid: processUuid,
    delivery: current.output.map((output) => describeDelivery(output, standings.get(output.uuid))),
    created_at: createdAt,
  };
}

function describeSetting({ configuration, output }: AlertSetting, shown: ReadonlySet<string>) {
  const { trigger, region, filter, parameters } = configuration as WholeConfiguration;
  return {
    ...{ trigger, region, filter, parameters },
    output: output.map((each) => showOutput(each, ({ uuid }) => shown.has(uuid))),
  };
}

const describeDelivery = ({ type }: StoredOutput, standing: DeliveryStanding | undefined): AlertDelivery => ({
  type,
  waiting: standing?.waiting ?? 0,
  delivered: standing?.delivered ?? 0,
  dropped: standing?.dropped ?? 0,
  last_attempt_at: standing?.lastAttemptAt?.toISOString() ?? null,
  last_delivered_at: standing?.lastDeliveredAt?.toISOString() ?? null,
  last_error: standing?.lastError ?? null,
});

export const describeType = ({ name, about, schemas, example }: AlertTypeDefinition): AlertDescription => {
  const { trigger, region, filter, parameters } = schemas;
  // As plain JSON: schemas carry marks of the library that made them.
  const plain = JSON.parse(JSON.stringify({ trigger, region, filter, parameters })) as AlertDescription["schemas"];
  return { name, type: name, description: about, schemas: plain, example };
};

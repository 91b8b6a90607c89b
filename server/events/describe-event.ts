import type { AccountEvent } from "../../schemas/api/account-events.ts";
import type { EventRow } from "../store/events.ts";

/** As clients and receivers get it. */
export const describeEvent = (row: EventRow): AccountEvent => ({
  id: row.seq,
  uuid: row.uuid,
  type: row.type,
  timestamp: row.happenedAt.toISOString(),
  source_uuid: row.sourceUuid,
  process_uuid: row.processUuid,
  data: row.data,
});

/** From what the element `alerts` found to what is told of it. Pure: the service and `windhover replay` say the same. */
import type { AlertFinding } from "../../schemas/alerts.ts";
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { DraftNotice } from "./waiting-notices.ts";

interface Origin {
  /** Of this notice. */
  readonly id: string;
  readonly processUuid: string;
  readonly sourceUuid: string;
}

export function draftNotice(
  { alert, type, timeMs, event, tracks, data }: AlertFinding,
  { id, processUuid, sourceUuid }: Origin,
): DraftNotice {
  return {
    id,
    alert_uuid: alert,
    type,
    process_uuid: processUuid,
    source_uuid: sourceUuid,
    timestamp: new Date(timeMs).toISOString(),
    event,
    tracks,
    data,
  };
}

export function nameNotice({ id, alert_uuid, ...rest }: DraftNotice, alias: string): AlertNotice {
  return { id, alert_uuid, alias, ...rest };
}

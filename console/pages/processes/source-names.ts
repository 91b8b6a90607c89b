/** Processes know the addresses of their sources; people know the names. */
import type { Process } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { windhover } from "../../session.ts";

/** The address where the source is gone, or not known yet. */
export function useSourceNames(): (process: Process) => string {
  const { asked } = useAsked((signal) => windhover.listSources({ limit: 100 }, { signal }), []);
  const sources = asked.state === "known" ? asked.value.sources : [];
  return ({ source_uuid, source_url }) => sources.find(({ uuid }) => uuid === source_uuid)?.alias ?? source_url;
}

/** Processes know the addresses of their sources; people know the names. */
import type { Process } from "../../client/client.ts";
import { useAsked } from "../asking.ts";
import { windhover } from "../session.ts";

const EVERY_MS = 15_000;

export type NameOf = (process: Pick<Process, "source_uuid" | "source_url">) => string;

/** The address where the source is gone, or not known yet. */
export function useSourceNames(): NameOf {
  const { asked } = useAsked((signal) => windhover.listSources({}, { signal }), [], EVERY_MS);
  const sources = "value" in asked ? (asked.value?.sources ?? []) : [];
  const names = new Map(sources.map(({ uuid, alias }) => [uuid, alias]));
  return ({ source_uuid, source_url }) => names.get(source_uuid) ?? source_url;
}

/** The registry of this machine's GStreamer, as the compiler wants it: described on demand, each factory once. */
import { describeFactory, listFactories } from "../../native/gstreamer.ts";
import type { FactoryInfo, FactorySummary, Registry } from "../../schemas/registry.ts";

export function loadRegistry(): Registry {
  let summaries: readonly FactorySummary[] | undefined;
  const described = new Map<string, FactoryInfo | undefined>();
  return {
    list() {
      summaries ??= listFactories() as FactorySummary[];
      return summaries;
    },
    get(name) {
      if (!described.has(name)) described.set(name, describeFactory(name) as FactoryInfo | undefined);
      return described.get(name);
    },
  };
}

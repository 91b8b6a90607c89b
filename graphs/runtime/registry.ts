/** The local GStreamer registry for the compiler. Factories are described on demand, each once. */
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

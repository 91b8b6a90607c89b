/** The local GStreamer registry for the compiler. Factories are described on demand. */
import { describeFactory, listFactories } from "../../native/gstreamer.ts";
import type { FactoryInfo, FactorySummary, Registry } from "../../schemas/registry.ts";

/** Those of plugins do not change. Describing all of them takes a second, and each command of a process would do it again. */
const described = new Map<string, FactoryInfo>();

export function loadRegistry(): Registry {
  let summaries: readonly FactorySummary[] | undefined;
  return {
    // By name: GStreamer's own order differs between a process that has examined the plugins and one that read its cache.
    list() {
      summaries ??= (listFactories() as FactorySummary[]).sort((a, b) => (a.name < b.name ? -1 : 1));
      return summaries;
    },
    get(name) {
      const known = described.get(name);
      if (known !== undefined) return known;
      const found = describeFactory(name) as FactoryInfo | undefined;
      // A Windhover element may have other properties after its code has been edited.
      if (found !== undefined && !found.klass.endsWith("/Windhover")) described.set(name, found);
      return found;
    },
  };
}

/** GStreamer's registry: every factory that is installed, and what it takes. */
import { addon } from "./addon.ts";

/** Factories without their properties: cheap, no plugin is loaded. */
export const listFactories = (): unknown[] => addon.listFactories();

/** One factory with its properties; loads its plugin. Undefined when there is none of that name. */
export const describeFactory = (name: string): unknown => addon.describeFactory(name);

/** Above every rank a plugin gives itself (GST_RANK_PRIMARY is 256). */
const PREFERRED_RANK = 4096;

/** Makes GStreamer choose these over others where it chooses by itself, the first before the second. */
export function preferFactories(names: readonly string[]): void {
  for (const [index, name] of names.entries()) addon.setRank(name, PREFERRED_RANK + names.length - index);
}

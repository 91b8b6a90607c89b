/** Files that a run leaves behind, for the end of it. */
import { statSync } from "node:fs";
import type { PlanSegment } from "../../graphs/compiler/plan.ts";
import type { Reporter } from "./reporter.ts";

export class WrittenFiles {
  readonly #paths = new Set<string>();

  place(segments: readonly PlanSegment[]): void {
    for (const { nodes } of segments)
      for (const { factory, properties } of nodes)
        if (factory === "filesink" && typeof properties.location === "string") this.#paths.add(properties.location);
  }

  report(reporter: Reporter): void {
    for (const file of this.#paths) {
      const found = statSync(file, { throwIfNoEntry: false });
      if (!found?.isFile()) continue;
      reporter.note(`written: ${file}, ${formatBytes(found.size)}`, { type: "written", file, bytes: found.size });
    }
  }
}

export const formatBytes = (bytes: number): string =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

/** Clips of notices with boxes, or of videos that cannot be cut: rendered like the clips that users request. */
import { rename, stat } from "node:fs/promises";
import { type RenderDeps, renderClip } from "../clips/render-clip.ts";
import type { WorkFolders } from "../clips/work-folder.ts";
import { newUuid } from "../uuid.ts";
import type { RenderEvidence } from "./evidence.ts";

export const renderEvidence =
  (deps: RenderDeps, folders: Pick<WorkFolders, "make">): RenderEvidence =>
  async (path, job, { fromMs, toMs }, signal) => {
    const { userUuid, sourceUuid, positionMs, happenedAt } = job;
    const processUuid = job.hasBoxes ? job.processUuid : null;
    const isFile = positionMs !== null;
    // Capture time of the start of the file.
    const baseMs = isFile ? happenedAt.getTime() - positionMs : 0;
    const nothing = { progress: 0, error: null, crashes: 0, sizeBytes: null, nodeUuid: null, fence: 0 };
    const clip = {
      ...{ uuid: newUuid(), userUuid, sourceUuid, processUuid, alias: "", isFile, baseMs },
      ...{
        ...nothing,
        fromMs: fromMs - baseMs,
        toMs: toMs - baseMs,
        state: "rendering" as const,
        createdAt: new Date(),
      },
    };
    const folder = await folders.make();
    try {
      const rendered = await renderClip(deps, { clip, folder, signal, onProgress() {} });
      const { size } = await stat(rendered);
      if (size === 0) throw new Error("there is no video in this range");
      await rename(rendered, path);
      return size;
    } finally {
      await folder.remove();
    }
  };

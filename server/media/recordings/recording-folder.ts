/** Recordings on the disk: `<folder>/<recording>/<index>.mp4`, written by the media hub. The folder is this server's alone. */
import { readdir, rm, rmdir, stat, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makePrivateFolder } from "../../data-folder.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SEGMENT = /^(0|[1-9]\d{0,8})\.mp4$/;

export class RecordingFolder {
  readonly path: string;

  constructor(dataDir: string) {
    this.path = resolve(dataDir, "recordings");
  }

  async prepare(): Promise<void> {
    await makePrivateFolder(this.path);
  }

  /** Names of recordings. What else lies there is not ours. */
  async list(): Promise<readonly string[]> {
    const entries = await readdir(this.path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && UUID.test(entry.name)).map(({ name }) => name);
  }

  /** In order; none for a recording that is not there. */
  async listSegments(recording: string): Promise<readonly number[]> {
    const names = await readdir(join(this.path, recording)).catch(() => []);
    const indices = names.flatMap((name) => SEGMENT.exec(name)?.[1] ?? []).map(Number);
    return indices.sort((a, b) => a - b);
  }

  segmentPath(recording: string, index: number): string {
    return join(this.path, recording, `${index}.mp4`);
  }

  async remove(recording: string): Promise<void> {
    await rm(join(this.path, recording), { recursive: true, force: true });
  }

  /** With its folder, when that was the last one. */
  async removeSegment(recording: string, index: number): Promise<void> {
    await rm(this.segmentPath(recording, index), { force: true });
    await rmdir(join(this.path, recording)).catch(() => {});
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.path);
    return bavail * bsize;
  }

  hasSegment(recording: string, index: number): Promise<boolean> {
    return stat(this.segmentPath(recording, index)).then(
      (found) => found.isFile(),
      () => false,
    );
  }
}

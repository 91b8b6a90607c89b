import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** What other users of the machine may read or enter: `0644 recordings/…`. PostgreSQL's own folder is closed as a whole. */
export async function listOpenFiles(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => !name.startsWith("postgres/"));
  const modes = await Promise.all(
    names.map(async (name) => {
      // One that is gone meanwhile is open to nobody.
      const found = await stat(join(folder, name)).catch(() => null);
      return { name, mode: (found?.mode ?? 0) & 0o777 };
    }),
  );
  return modes.filter(({ mode }) => (mode & 0o077) !== 0).map(({ name, mode }) => `0${mode.toString(8)} ${name}`);
}

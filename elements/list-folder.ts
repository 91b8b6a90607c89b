/** Lists the folders of elements in a folder: each folder `x`, or link to a folder, holds `x/x.ts`. */
import { readdir, stat } from "node:fs/promises";

/** `folder` ends in a slash. Names in alphabetical order. */
export async function listFolder(folder: URL): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const isFolder = async (name: string) =>
    // A dangling link counts as a folder, so that its file is reported as missing.
    (await stat(new URL(name, folder)).catch(() => null))?.isDirectory() ?? true;
  const found = await Promise.all(
    entries
      .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map(async ({ name }) => ((await isFolder(name)) ? [name] : [])),
  );
  return found.flat().sort();
}

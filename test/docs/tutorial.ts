/** A copy of this project with the files of a page in it, as its reader would have. */
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileOf, type Page, ROOT } from "./pages.ts";

/** What `windhover run` and a test of one's own need. Without bundles: those would not know of the new files. */
const COPIED = [
  "cli",
  "clips",
  "elements",
  "enhance",
  "graphs",
  "hub",
  "media",
  "models",
  "native",
  "schemas",
  "server",
  "setup",
  "telemetry",
  "tracks",
  "vision",
  "package.json",
  "tsconfig.json",
];
const LINKED = ["node_modules", "build/windhover.node", "build/addon.stamp"];

/** Resolves with the paths of the page's files. */
export async function copyProject(page: Page, folder: string): Promise<readonly string[]> {
  const isSource = (path: string) => !/\.(test|soak)\.ts$|\.(cc|h)$|native\/camera/.test(path.slice(ROOT.length));
  await Promise.all(
    COPIED.map((name) => cp(join(ROOT, name), join(folder, name), { recursive: true, filter: isSource })),
  );
  await mkdir(join(folder, "build"));
  for (const name of LINKED) await symlink(join(ROOT, name), join(folder, name));
  const files = page.blocks.flatMap((block) => {
    const file = fileOf(block);
    return file === null ? [] : [{ file, text: block.text }];
  });
  for (const { file, text } of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return files.map(({ file }) => file);
}

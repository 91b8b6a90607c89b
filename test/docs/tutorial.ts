/** A copy of this project with the files of a page in it, as its reader would have. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { copyCheckout } from "../checkout.fixture.ts";
import { fileOf, type Page } from "./pages.ts";

/** Resolves with the paths of the page's files. */
export async function copyProject(page: Page, folder: string): Promise<readonly string[]> {
  await copyCheckout(folder);
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

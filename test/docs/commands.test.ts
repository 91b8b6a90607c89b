/** Runs every line `npx windhover …` of the documentation, page by page and in order. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { cacheFolder } from "../../models/cache.ts";
import { findBuiltIn } from "../../models/find-card.ts";
import { weightsFile } from "../../models/open.ts";
import { testDatabase } from "../../server/store/database.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { runLine, splitLines } from "./command-lines.ts";
import { findPage, isNotRun, WRITTEN } from "./pages.ts";
import { addFiles, saveFiles, shadowCache } from "./reader-folder.ts";

const folder = temporaryFolder();
const [database, clip] = await Promise.all([testDatabase(), makeClip(folder, 4)]);
const home = process.cwd();
after(async () => {
  process.chdir(home);
  await database.close();
});
const hasQuality = existsSync(weightsFile(findBuiltIn("quality").card));
shadowCache(cacheFolder(), join(folder, "cache"));
process.env.WINDHOVER_CACHE_DIR = join(folder, "cache");
process.env.DATABASE_URL = database.url;

/** Lines that are not run, with the reason; `test/docs.test.ts` checks all of them. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/rtsp:\/\/camera\.example/, "needs a camera; cli/run/camera.test.ts uses one"],
  [/ run entrance| occupancy$/, "needs the tutorial's element; test/docs.test.ts runs it"],
  [/ check entrance/, "needs the tutorial's element"],
  [/ test counted\.yaml$/, "needs a clip with people; cli/commands/test.test.ts runs such tests"],
  ...(hasQuality ? [] : [[/ models get quality/, "would download the model"] as const]),
];
const reasonFor = (line: string): string | false => NOT_RUN.find(([what]) => what.test(line))?.[1] ?? false;

/** test/recipes.test.ts runs the recipes, with videos and telemetry: here their graphs are compiled with what the page sets. */
const withoutRecipe = (line: string): string =>
  line.replace("npx windhover run", "npx windhover explain").replaceAll(/ --(video|telemetry) \S+/g, "");

for (const page of WRITTEN) {
  const lines = page.blocks
    .filter((block) => block.language === "sh" && !isNotRun(block))
    .flatMap(({ text }) => splitLines(text))
    .filter((line) => /^(npx windhover|cd) /.test(line));
  if (lines.length === 0) continue;
  describe(page.path, () => {
    let workFolder = join(folder, page.path.replaceAll("/", "-"));
    mkdirSync(workFolder);
    saveFiles(page, workFolder);
    addFiles(clip, workFolder);
    for (const line of lines)
      test(line, { skip: reasonFor(line) }, async () => {
        if (line.startsWith("cd ")) workFolder = join(workFolder, line.slice("cd ".length));
        process.chdir(workFolder);
        if (line.startsWith("cd ")) return;
        const { code, out, err } = await runLine(page.path === "docs/recipes.md" ? withoutRecipe(line) : line);
        assert.equal(code, 0, out + err);
      });
  });
}

test("dumps and restores an external database", async () => {
  const { text } =
    findPage("docs/operations.md").blocks.find(({ remark }) => remark === "run: dump") ?? assert.fail("no such block");
  const workFolder = join(folder, "dump");
  for (const name of ["videos", "recordings"]) mkdirSync(join(workFolder, name), { recursive: true });
  writeFileSync(join(workFolder, "secrets.key"), "");
  const before = await runLine("npx windhover keys list");
  assert.match(before.out, /\bwall\b/);
  execFileSync("bash", ["-euc", text.replaceAll("/var/lib/windhover", workFolder)], { cwd: workFolder });
  const after = await runLine("npx windhover keys list");
  assert.equal(after.out, before.out);
});

/** Every line `npx windhover …` of the documentation is run, page by page and in order, as its reader would. */
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
import { splitLines } from "./command-lines.ts";
import { findPage, isNotRun, WRITTEN } from "./pages.ts";
import { runLine } from "./run-line.ts";
import { bringFiles, saveFiles, shadowCache } from "./surroundings.ts";

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

/** Lines that are only read, and why; `test/docs.test.ts` reads all of them. */
const LEFT: readonly (readonly [RegExp, string])[] = [
  [/rtsp:\/\/camera\.example/, "there is no such camera; cli/run/camera.test.ts runs on one"],
  [/ run entrance\.yaml| occupancy$/, "they need the tutorial's element; test/docs.test.ts runs them where it is"],
  [/ check entrance\.yaml/, "the same"],
  ...(hasQuality ? [] : [[/ models get quality/, "it would have to be fetched"] as const]),
];
const reasonFor = (line: string): string | false => LEFT.find(([what]) => what.test(line))?.[1] ?? false;

for (const page of WRITTEN) {
  const lines = page.blocks
    .filter((block) => block.language === "sh" && !isNotRun(block))
    .flatMap(({ text }) => splitLines(text))
    .filter((line) => line.startsWith("npx windhover "));
  if (lines.length === 0) continue;
  describe(page.path, () => {
    const desk = join(folder, page.path.replaceAll("/", "-"));
    mkdirSync(desk);
    saveFiles(page, desk);
    bringFiles(clip, desk);
    for (const line of lines)
      test(line, { skip: reasonFor(line) }, async () => {
        process.chdir(desk);
        const { code, out, err } = await runLine(line);
        assert.equal(code, 0, out + err);
      });
  });
}

test("a database of one's own is saved and brought back, with everything in it", async () => {
  const { text } =
    findPage("docs/operations.md").blocks.find(({ remark }) => remark === "run: dump") ?? assert.fail("no such block");
  const desk = join(folder, "dump");
  for (const name of ["videos", "recordings"]) mkdirSync(join(desk, name), { recursive: true });
  writeFileSync(join(desk, "secrets.key"), "");
  const before = await runLine("npx windhover keys list");
  assert.match(before.out, /\bwall\b/);
  execFileSync("bash", ["-euc", text.replaceAll("/var/lib/windhover", desk)], { cwd: desk });
  const after = await runLine("npx windhover keys list");
  assert.equal(after.out, before.out);
});

/** What tests use and would otherwise make during their run: see `test/prepare.ts`. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandFailure, runCommand } from "./command.mjs";

/** In the folder of the videos: who deletes them deletes this too. */
const STAMP = "build/test-videos/prepared";
const LIMIT_MS = 20 * 60_000;

/** Digest of all that the data depends on. */
function describeInputs(root) {
  const fixtures = readdirSync(join(root, "test"), { recursive: true })
    .map((name) => join("test", name))
    .filter((name) => name.endsWith(".fixture.ts") || (name.startsWith("test/flight/") && name.endsWith(".ts")));
  const migrations = readdirSync(join(root, "server/store/migrations")).map((name) =>
    join("server/store/migrations", name),
  );
  const hash = createHash("sha256");
  for (const name of [...fixtures, ...migrations, "test/prepare.ts", "clips/clips.ts"].sort())
    hash.update(name).update(readFileSync(join(root, name)));
  return hash.digest("hex");
}

export function isTestDataReady(root) {
  try {
    return readFileSync(join(root, STAMP), "utf8") === describeInputs(root);
  } catch {
    return false;
  }
}

/** @returns {Promise<string | undefined>} a warning where a clip cannot be downloaded: tests that need it are skipped */
export async function prepareTestData(root, { onProgress }) {
  const inputs = describeInputs(root);
  try {
    await runCommand(process.execPath, ["--import", "tsx", "test/prepare.ts"], {
      ...{ cwd: root, limitMs: LIMIT_MS, onLine: onProgress },
    });
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    rmSync(join(root, STAMP), { force: true });
    return [...error.lines, "Tests make what is missing; those whose clip is missing are skipped."].join("\n");
  }
  const fresh = join(root, `${STAMP}.${process.pid}`);
  mkdirSync(join(root, "build/test-videos"), { recursive: true });
  writeFileSync(fresh, inputs);
  renameSync(fresh, join(root, STAMP));
}

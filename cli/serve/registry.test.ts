import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadRegistry } from "../../graphs/runtime/registry.ts";
import { readRegistry, registryFile } from "./registry.ts";

test("the registry as data is the registry as GStreamer has it", async () => {
  const read = await readRegistry();
  const loaded = loadRegistry();
  assert.deepEqual(
    read.list().map(({ name }) => name),
    loaded.list().map(({ name }) => name),
  );
  for (const name of ["queue", "x264enc", "videotestsrc", "no-such-element"])
    assert.deepEqual(read.get(name), JSON.parse(JSON.stringify(loaded.get(name) ?? null)) ?? undefined, name);
});

const folder = mkdtempSync(join(tmpdir(), "windhover-registry-"));
const before = process.env.GST_REGISTRY_1_0;
afterEach(() => {
  if (before === undefined) delete process.env.GST_REGISTRY_1_0;
  else process.env.GST_REGISTRY_1_0 = before;
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("a process that examines the plugins and one that reads GStreamer's cache describe them in the same words", () => {
  const cache = join(folder, "examined.bin");
  const program = fileURLToPath(new URL("registry-program.mjs", import.meta.url));
  const describe = (into: string): string => {
    const env = { ...process.env, GST_REGISTRY_1_0: cache, WINDHOVER_CACHE_DIR: join(folder, into) };
    const file = execFileSync(process.execPath, [program], { env, encoding: "utf8", timeout: 60_000 }).trim();
    assert.ok(file.startsWith(join(folder, into)), file);
    return readFileSync(file, "utf8");
  };
  assert.equal(existsSync(cache), false);
  const examined = describe("first");
  assert.equal(existsSync(cache), true);
  assert.ok(describe("second") === examined);
});

test("a copy of GStreamer's cache is the same one, as in an image, and a changed one is another", () => {
  const fileOf = (cache: string): string | null => {
    process.env.GST_REGISTRY_1_0 = cache;
    return registryFile();
  };
  const [made, copied] = [join(folder, "made.bin"), join(folder, "copied.bin")];
  writeFileSync(made, "plugins");
  copyFileSync(made, copied);
  utimesSync(copied, 1_000, 1_000);
  const name = fileOf(made);
  assert.match(name ?? "", /gstreamer-\d+-[0-9a-f]{32}\.jsonl$/);
  assert.equal(fileOf(copied), name);
  writeFileSync(copied, "plugin-");
  assert.notEqual(fileOf(copied), name);
  assert.equal(fileOf(join(folder, "none.bin")), null);
});

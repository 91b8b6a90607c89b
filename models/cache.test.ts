import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "./cache.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-cache-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const IN_CHECKOUT = fileURLToPath(new URL("../.cache", import.meta.url));

test("uses WINDHOVER_CACHE_DIR unchanged", () => {
  assert.equal(cacheFolder({ WINDHOVER_CACHE_DIR: "/proc/nowhere", HOME: folder }), "/proc/nowhere");
  assert.equal(cacheFolder({ WINDHOVER_CACHE_DIR: "near", HOME: folder }), join(process.cwd(), "near"));
});

test("defaults to the user's cache folder, whether it exists or not", () => {
  assert.equal(cacheFolder({ HOME: folder }), join(folder, ".cache/windhover"));
  assert.equal(cacheFolder({ HOME: join(folder, "new") }), join(folder, "new/.cache/windhover"));
  assert.equal(cacheFolder({ HOME: folder, XDG_CACHE_HOME: join(folder, "xdg") }), join(folder, "xdg/windhover"));
  assert.equal(cacheFolder({ HOME: folder, XDG_CACHE_HOME: "relative" }), join(folder, ".cache/windhover"));
  assert.equal(cacheFolder({ HOME: folder, WINDHOVER_CACHE_DIR: "" }), join(folder, ".cache/windhover"));
});

test("falls back to the checkout without a writable home folder", () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  assert.equal(cacheFolder({ HOME: file }), IN_CHECKOUT, "a file");
  assert.equal(cacheFolder({ HOME: "" }), IN_CHECKOUT, "none");
});

test("ignores a home folder that this user may not enter", {
  skip: process.getuid?.() === 0 && "root may write anywhere",
}, () => {
  const closed = join(folder, "closed");
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  assert.equal(cacheFolder({ HOME: closed }), IN_CHECKOUT);
});

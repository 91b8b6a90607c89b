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

test("what WINDHOVER_CACHE_DIR names is taken as it is", () => {
  assert.equal(cacheFolder({ WINDHOVER_CACHE_DIR: "/proc/nowhere", HOME: folder }), "/proc/nowhere");
  assert.equal(cacheFolder({ WINDHOVER_CACHE_DIR: "near", HOME: folder }), join(process.cwd(), "near"));
});

test("else it is in the user's cache folder, there or still to be made", () => {
  assert.equal(cacheFolder({ HOME: folder }), join(folder, ".cache/windhover"));
  assert.equal(cacheFolder({ HOME: join(folder, "new") }), join(folder, "new/.cache/windhover"));
  assert.equal(cacheFolder({ HOME: folder, XDG_CACHE_HOME: join(folder, "xdg") }), join(folder, "xdg/windhover"));
  assert.equal(cacheFolder({ HOME: folder, XDG_CACHE_HOME: "relative" }), join(folder, ".cache/windhover"));
  assert.equal(cacheFolder({ HOME: folder, WINDHOVER_CACHE_DIR: "" }), join(folder, ".cache/windhover"));
});

test("without a home that can be written it is in the checkout", () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  assert.equal(cacheFolder({ HOME: file }), IN_CHECKOUT, "a file");
  assert.equal(cacheFolder({ HOME: "" }), IN_CHECKOUT, "none");
});

test("a home that is closed to this user is none", {
  skip: process.getuid?.() === 0 && "root may write anywhere",
}, () => {
  const closed = join(folder, "closed");
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  assert.equal(cacheFolder({ HOME: closed }), IN_CHECKOUT);
});

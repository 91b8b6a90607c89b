import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { areModulesFresh, installModules } from "./node-modules.mjs";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "windhover-modules-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("does not run install scripts of packages", async () => {
  const scripts = { postinstall: "echo ran > ran.txt" };
  const project = { name: "fixture", version: "1.0.0", scripts };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...project, dependencies: { inner: "file:inner" } }));
  const inner = { name: "inner", version: "1.0.0", scripts };
  const packages = {
    "": { ...project, hasInstallScript: true, dependencies: { inner: "file:inner" } },
    inner: { version: "1.0.0", hasInstallScript: true },
    "node_modules/inner": { resolved: "inner", link: true },
  };
  const lock = { name: "fixture", version: "1.0.0", lockfileVersion: 3, requires: true, packages };
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  mkdirSync(join(folder, "inner"));
  writeFileSync(join(folder, "inner/package.json"), JSON.stringify(inner));
  await installModules(folder, { onProgress: () => {} });
  assert.ok(areModulesFresh(folder));
  for (const path of ["ran.txt", "inner/ran.txt"]) assert.ok(!existsSync(join(folder, path)), path);
});

test("lists all packages with install scripts; none of them is needed", () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const names = Object.entries<{ hasInstallScript?: boolean }>(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ""));
  // Before adding a package here and to the comment in node-modules.mjs, find out what its script does.
  assert.deepEqual(names.sort(), ["@scarf/scarf", "esbuild", "onnxruntime-node"]);
  assert.match(readFileSync(join(ROOT, ".npmrc"), "utf8"), /^ignore-scripts=true$/m);
});

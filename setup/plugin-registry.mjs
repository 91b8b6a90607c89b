/**
 * GStreamer caches its plugin registry in a file of the user, and Windhover a description of all its elements. Without the
 * files the first start takes three seconds longer; this creates them once for each set of installed packages and addon.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { runCommand } from "./command.mjs";

const stampOf = (root) => join(root, "build/plugin-registry.stamp");

/** @param {string} versions from `inspectSystem` */
export function isRegistryWarm(root, versions) {
  const stamp = stampOf(root);
  if (!existsSync(stamp)) return false;
  const stamped = readFileSync(stamp, "utf8");
  // Without a writable cache folder, scanning again would not help.
  return stamped === describe(root, versions, "kept") ? hasCache() : stamped === describe(root, versions, "not kept");
}

export async function warmRegistry(root, versions) {
  await runCommand(process.execPath, ["cli/serve/registry-program.mjs"], { cwd: root, limitMs: 120_000 });
  const stamp = stampOf(root);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(`${stamp}.${process.pid}`, describe(root, versions, hasCache() ? "kept" : "not kept"));
  renameSync(`${stamp}.${process.pid}`, stamp);
}

function describe(root, versions, outcome) {
  const stamp = join(root, "build/addon.stamp");
  const addon = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
  return `${outcome} in ${namedFile() ?? cacheFolder()}\n${versions}\naddon ${addon}`;
}

const namedFile = () => process.env.GST_REGISTRY_1_0 ?? process.env.GST_REGISTRY;
const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "gstreamer-1.0");

function hasCache() {
  const file = namedFile();
  if (file !== undefined) return existsSync(file);
  return existsSync(cacheFolder()) && readdirSync(cacheFolder()).some((name) => /^registry\..*\.bin$/.test(name));
}

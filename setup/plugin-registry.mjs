/**
 * GStreamer caches its plugin registry in a file of the user. Without the file a start takes more than a second longer;
 * this creates it once for each set of installed packages.
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
  return stamped === describe(versions, "kept") ? hasCache() : stamped === describe(versions, "not kept");
}

export async function warmRegistry(root, versions) {
  await runCommand("gst-inspect-1.0", ["fakesink"], { limitMs: 120_000 });
  const stamp = stampOf(root);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(`${stamp}.${process.pid}`, describe(versions, hasCache() ? "kept" : "not kept"));
  renameSync(`${stamp}.${process.pid}`, stamp);
}

const describe = (versions, outcome) => `${outcome} in ${namedFile() ?? cacheFolder()}\n${versions}`;

const namedFile = () => process.env.GST_REGISTRY_1_0 ?? process.env.GST_REGISTRY;
const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "gstreamer-1.0");

function hasCache() {
  const file = namedFile();
  if (file !== undefined) return existsSync(file);
  return existsSync(cacheFolder()) && readdirSync(cacheFolder()).some((name) => /^registry\..*\.bin$/.test(name));
}

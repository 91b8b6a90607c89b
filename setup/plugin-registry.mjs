/**
 * GStreamer keeps what it knows of its plugins in a cache file of the user. The first start without it takes more than a
 * second; it is paid here, once for each set of installed packages.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { runCommand } from "./command.mjs";

const stampOf = (root) => join(root, "build/plugin-registry.stamp");

/** @param {string} versions as `inspectSystem` gives it */
export function isRegistryWarm(root, versions) {
  const stamp = stampOf(root);
  if (!existsSync(stamp)) return false;
  const stamped = readFileSync(stamp, "utf8");
  // Where no cache can be kept (a home that is not writable) there is nothing to warm a second time.
  return stamped === describe(versions, "kept") ? isCacheThere() : stamped === describe(versions, "not kept");
}

export async function warmRegistry(root, versions) {
  await runCommand("gst-inspect-1.0", ["fakesink"], { limitMs: 120_000 });
  const stamp = stampOf(root);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(`${stamp}.${process.pid}`, describe(versions, isCacheThere() ? "kept" : "not kept"));
  renameSync(`${stamp}.${process.pid}`, stamp);
}

const describe = (versions, outcome) => `${outcome} in ${namedFile() ?? cacheFolder()}\n${versions}`;

const namedFile = () => process.env.GST_REGISTRY_1_0 ?? process.env.GST_REGISTRY;
const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "gstreamer-1.0");

function isCacheThere() {
  const file = namedFile();
  if (file !== undefined) return existsSync(file);
  return existsSync(cacheFolder()) && readdirSync(cacheFolder()).some((name) => /^registry\..*\.bin$/.test(name));
}

/** A copy of this checkout, for tests that change its files. */
import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Sources of the programs. Without the bundles, which would not contain new files. */
const COPIED = [
  "cli",
  "clips",
  "elements",
  "expressions",
  "enhance",
  "graphs",
  "hub",
  "ipc",
  "media",
  "models",
  "native",
  "schemas",
  "server",
  "setup",
  "telemetry",
  "terrain",
  "tracks",
  "vision",
  "package-lock.json",
  "package.json",
  "tsconfig.json",
];
const LINKED = [
  "node_modules",
  ...["windhover.node", "dtls.node", "srt.node", "addon.stamp", "confine"].map((name) => `build/${name}`),
];

/** Copies into an empty folder. */
export async function copyCheckout(folder: string): Promise<void> {
  const isSource = (path: string) =>
    !/\.(test|soak)\.ts$|\.(cc|h)$|native\/(camera|confine|dtls)/.test(path.slice(ROOT.length));
  await Promise.all(
    COPIED.map((name) => cp(join(ROOT, name), join(folder, name), { recursive: true, filter: isSource })),
  );
  await mkdir(join(folder, "build"));
  for (const name of LINKED) await symlink(join(ROOT, name), join(folder, name));
}

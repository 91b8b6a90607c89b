/** A copy of this checkout, for tests that change what is in it. */
import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What programs and their bundles are made of. Without the bundles themselves: those would not know of new files. */
const COPIED = [
  "cli",
  "clips",
  "elements",
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
  "tracks",
  "vision",
  "package-lock.json",
  "package.json",
  "tsconfig.json",
];
const LINKED = ["node_modules", "build/windhover.node", "build/dtls.node", "build/addon.stamp", "build/confine"];

/** Into an empty folder. */
export async function copyCheckout(folder: string): Promise<void> {
  const isSource = (path: string) =>
    !/\.(test|soak)\.ts$|\.(cc|h)$|native\/(camera|confine|dtls)/.test(path.slice(ROOT.length));
  await Promise.all(
    COPIED.map((name) => cp(join(ROOT, name), join(folder, name), { recursive: true, filter: isSource })),
  );
  await mkdir(join(folder, "build"));
  for (const name of LINKED) await symlink(join(ROOT, name), join(folder, name));
}

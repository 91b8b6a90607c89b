/**
 * Writes the generated pages of docs/ and the typed part of client/. Starts a service on free ports, with its own data
 * folder, to get the OpenAPI document.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { writeAll } from "./write/all.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LIMIT_MS = 120_000;

async function fetchDocument(): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "windhover-generate-"));
  const service = spawn(process.execPath, [join(ROOT, "cli/windhover.mjs"), "serve"], {
    cwd: folder,
    env: {
      ...process.env,
      WINDHOVER_DATA_DIR: join(folder, "data"),
      WINDHOVER_HTTP_PORT: "0",
      WINDHOVER_RTSP_PORT: "0",
      WINDHOVER_RTMP_PORT: "0",
      WINDHOVER_SRT_PORT: "0",
      WINDHOVER_LOG_LEVEL: "error",
    },
    stdio: ["ignore", "pipe", "inherit"],
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const ended = once(service, "close");
  try {
    for await (const line of createInterface({ input: service.stdout })) {
      const { event, openapi } = JSON.parse(line) as { event: string; openapi: string };
      if (event === "ready") return await (await fetch(openapi)).json();
    }
    throw new Error("the service ended before it was ready");
  } finally {
    service.kill("SIGTERM");
    await ended.catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
}

const files = await writeAll(await fetchDocument());
// Of resources that are no longer there.
await rm(join(ROOT, "docs/api"), { recursive: true, force: true });
for (const [path, text] of files) {
  await mkdir(dirname(join(ROOT, path)), { recursive: true });
  await writeFile(join(ROOT, path), text);
  console.log(path);
}
// The client is TypeScript: formatted like all other code.
const format = spawnSync("npx", ["biome", "check", "--write", "client/operations.ts"], { cwd: ROOT, encoding: "utf8" });
if (format.status !== 0) {
  console.error(format.stdout + format.stderr);
  process.exitCode = 1;
}

/**
 * Runs inside the root that docker/prove.sh has built, as the image's user: starts, uses and stops the service.
 *
 *   node docker/prove.mjs ENTRYPOINT CMD HEALTHCHECK STOPSIGNAL     the first three as JSON arrays of the Dockerfile
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { findBundle } from "../setup/load.mjs";

const LIMIT_MS = 120_000;
const STOP_MS = 30_000;
const SERVICE_URL = "http://127.0.0.1:8080";
const [entrypoint, command, health] = process.argv.slice(2, 5).map((text) => JSON.parse(text));
const stopSignal = process.argv[5];
const registry = join(process.env.WINDHOVER_CACHE_DIR, "registry");

const print = (name, text) => console.log(`${name}: ${text}`);
const secondsSince = (beganMs) => `${((performance.now() - beganMs) / 1000).toFixed(1)} s`;
const listRegistry = () =>
  readdirSync(registry)
    .map((name) => `${name} ${statSync(join(registry, name)).mtimeMs}`)
    .join(", ");

function mayWrite(path) {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function expect(isTrue, message) {
  if (!isTrue) throw new Error(message);
}

/** Calls `read` until its result is not null. */
async function poll(what, read) {
  const beganMs = performance.now();
  for (;;) {
    expect(service.exitCode === null, `the service ended with ${service.exitCode} before ${what}`);
    const found = await read();
    if (found !== null) return found;
    expect(performance.now() - beganMs < LIMIT_MS, `no ${what} within ${LIMIT_MS / 1000} s`);
    await wait(200);
  }
}

async function call(path, key, init = {}) {
  const answer = await fetch(`${SERVICE_URL}${path}`, { ...init, headers: { api_key: key } });
  const text = await answer.text();
  expect(answer.ok, `${init.method ?? "GET"} ${path} answered ${answer.status}: ${text}`);
  return answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
}

/** Creates a video with the GStreamer of the image. */
function makeVideo() {
  const file = "/tmp/prove.mp4";
  const pipeline = `videotestsrc num-buffers=300 pattern=ball ! video/x-raw,width=640,height=360,framerate=10/1 ! x264enc ! mp4mux ! filesink location=${file}`;
  execFileSync("gst-launch-1.0", ["-q", ...pipeline.split(" ")], { stdio: ["ignore", "ignore", "inherit"] });
  return new Blob([readFileSync(file)], { type: "video/mp4" });
}

print("user", execFileSync("id", { encoding: "utf8" }).trim());
expect(process.getuid() !== 0, "the service must not run as root");
expect(findBundle("cli") !== null, "the bundle is missing or out of date");
const warm = listRegistry();
print("registry before the start", warm);
for (const path of [registry, ...readdirSync(registry).map((name) => join(registry, name))])
  expect(!mayWrite(path), `the service may write ${path}: the next start would load libraries that are named there`);

const beganMs = performance.now();
const service = spawn(entrypoint[0], [...entrypoint.slice(1), ...command], { stdio: ["ignore", "pipe", "pipe"] });
let [printed, logged] = ["", ""];
service.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
service.stderr.setEncoding("utf8").on("data", (text) => (logged = (logged + text).slice(-4000)));
try {
  await poll("healthy", async () => (spawnSync(health[0], health.slice(1)).status === 0 ? true : null));
  print("healthy", `after ${secondsSince(beganMs)}`);
  const key = await poll("key", async () => /"api_key":"([^"]+)"/.exec(printed)?.[1] ?? null);
  print("console", `${(await call("/console", key)).length} characters`);
  print("graphs", (await call("/graphs", key)).graphs.map(({ name }) => name).join(" "));
  const body = new FormData();
  body.append("file", makeVideo(), "prove.mp4");
  const { uuid } = await call("/video", key, { method: "POST", body });
  const askedMs = performance.now();
  const { process_uuid: process } = await call(`/start?source_uuid=${uuid}`, key, { method: "POST" });
  print("start", `answered after ${secondsSince(askedMs)}`);
  const stats = await poll("inference", async () => {
    const { stats } = await call(`/process/${process}`, key);
    return stats.fps_processed > 0 && stats.inference_ms > 0 ? stats : null;
  });
  print("process", `${stats.fps_processed} inferences/s, ${Math.round(stats.inference_ms)} ms each`);
  expect(
    (await call("/metrics", key)).includes('windhover_processes{state="running"} 1'),
    "/metrics does not show a running process",
  );
  expect(listRegistry() === warm, `the registry was rewritten: now ${listRegistry()}`);
  print("registry", "unchanged");
} catch (error) {
  console.error(logged);
  service.kill("SIGKILL");
  throw error;
}

const stopMs = performance.now();
service.kill(stopSignal);
const killer = setTimeout(() => service.kill("SIGKILL"), STOP_MS);
const [code, signal] = await once(service, "exit");
clearTimeout(killer);
print("stopped", `with ${code ?? signal} after ${secondsSince(stopMs)}`);
expect(code === 0, `did not stop cleanly:\n${logged}`);

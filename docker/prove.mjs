/**
 * Runs in what docker/prove.sh has made, as the image's user: starts the service as the image would, uses it, stops it.
 *
 *   node docker/prove.mjs ENTRYPOINT CMD HEALTHCHECK STOPSIGNAL     the first three as JSON, as in the Dockerfile
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { findBundle } from "../setup/load.mjs";

const LIMIT_MS = 120_000;
const STOP_MS = 30_000;
const URL_OF_SERVICE = "http://127.0.0.1:8080";
const [entrypoint, command, health] = process.argv.slice(2, 5).map((text) => JSON.parse(text));
const stopSignal = process.argv[5];
const registry = join(process.env.WINDHOVER_CACHE_DIR, "registry");

const say = (name, words) => console.log(`${name}: ${words}`);
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

function expect(isTrue, words) {
  if (!isTrue) throw new Error(words);
}

/** What it gives, once it is not null. */
async function poll(what, ask) {
  const beganMs = performance.now();
  for (;;) {
    expect(service.exitCode === null, `the service ended with ${service.exitCode} before ${what}`);
    const found = await ask();
    if (found !== null) return found;
    expect(performance.now() - beganMs < LIMIT_MS, `no ${what} within ${LIMIT_MS / 1000} s`);
    await wait(200);
  }
}

async function call(path, key, init = {}) {
  const answer = await fetch(`${URL_OF_SERVICE}${path}`, { ...init, headers: { api_key: key } });
  const text = await answer.text();
  expect(answer.ok, `${init.method ?? "GET"} ${path} answered ${answer.status}: ${text}`);
  return answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
}

/** A video with something in it, by the image's own GStreamer. */
function makeVideo() {
  const file = "/tmp/prove.mp4";
  const pipeline = `videotestsrc num-buffers=300 pattern=ball ! video/x-raw,width=640,height=360,framerate=10/1 ! x264enc ! mp4mux ! filesink location=${file}`;
  execFileSync("gst-launch-1.0", ["-q", ...pipeline.split(" ")], { stdio: ["ignore", "ignore", "inherit"] });
  return new Blob([readFileSync(file)], { type: "video/mp4" });
}

say("user", execFileSync("id", { encoding: "utf8" }).trim());
expect(process.getuid() !== 0, "root");
expect(findBundle("cli") !== null, "the bundles are not taken for fresh");
const warm = listRegistry();
say("warmed", warm);
for (const path of [registry, ...readdirSync(registry).map((name) => join(registry, name))])
  expect(!mayWrite(path), `the service may write ${path}: what it names there is loaded by the next start`);

const beganMs = performance.now();
const service = spawn(entrypoint[0], [...entrypoint.slice(1), ...command], { stdio: ["ignore", "pipe", "pipe"] });
let [printed, logged] = ["", ""];
service.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
service.stderr.setEncoding("utf8").on("data", (text) => (logged = (logged + text).slice(-4000)));
try {
  await poll("healthy", async () => (spawnSync(health[0], health.slice(1)).status === 0 ? true : null));
  say("healthy", `after ${secondsSince(beganMs)}`);
  const key = await poll("key", async () => /"api_key":"([^"]+)"/.exec(printed)?.[1] ?? null);
  say("console", `${(await call("/console", key)).length} characters`);
  say("graphs", (await call("/graphs", key)).graphs.map(({ name }) => name).join(" "));
  const body = new FormData();
  body.append("file", makeVideo(), "prove.mp4");
  const { uuid } = await call("/video", key, { method: "POST", body });
  const askedMs = performance.now();
  const { process_uuid: process } = await call(`/start?source_uuid=${uuid}`, key, { method: "POST" });
  say("start", `answered after ${secondsSince(askedMs)}`);
  const stats = await poll("frame that was looked at", async () => {
    const { stats } = await call(`/process/${process}`, key);
    return stats.fps_processed > 0 && stats.inference_ms > 0 ? stats : null;
  });
  say("process", `looks at ${stats.fps_processed} frames a second, ${Math.round(stats.inference_ms)} ms each`);
  expect(
    (await call("/metrics", key)).includes('windhover_processes{state="running"} 1'),
    "no such number in /metrics",
  );
  expect(listRegistry() === warm, `the registry was not warm: now ${listRegistry()}`);
  say("registry", "as it was warmed");
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
say("stopped", `with ${code ?? signal} after ${secondsSince(stopMs)}`);
expect(code === 0, `did not stop cleanly:\n${logged}`);

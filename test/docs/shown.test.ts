/** Compares output that pages show with the real output, as far as it is the same on every machine. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import pino from "pino";
import { announceKey, announceReady, showDemo } from "../../cli/serve/announce.ts";
import { TextWriter } from "../../cli/terminal.fixture.ts";
import { Terminal } from "../../cli/terminal.ts";
import type { RunningServer } from "../../server/main.ts";
import { ServiceError } from "../../server/service-error.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { runLine } from "./command-lines.ts";
import { type Block, findPage, ROOT, WRITTEN } from "./pages.ts";

const GOLDEN = join(ROOT, "test/golden/vtest.golden.ndjson");
/** Debian's nginx, which other tests use with its RTMP module. */
const NGINX = "/usr/sbin/nginx";
const folder = temporaryFolder();

function findBlock(path: string, remark: string): Block {
  return findPage(path).blocks.find((block) => block.remark === remark) ?? assert.fail(`${path} has no ${remark}`);
}

/** A terminal. */
class Screen extends TextWriter {
  readonly isTTY = true;
}

/** The first track of the first frame. */
const first = JSON.parse(readFileSync(GOLDEN, "utf8").split("\n")[1] ?? "").message.active_tracks[0];

test("the README shows what a first start with the demo prints", async () => {
  const shown = findBlock("README.md", "announced").text;
  const [key = ""] = /wh_\S+/.exec(shown) ?? assert.fail();
  const [, process_uuid = ""] = /processes\/(\S+)/.exec(shown) ?? assert.fail();
  const url = "http://127.0.0.1:8080";
  const server = {
    url,
    listen: url,
    rtsp: "rtsp://127.0.0.1:8554",
    rtmp: "rtmp://127.0.0.1:1935",
    srt: "srt://127.0.0.1:8890",
  } as RunningServer;
  const screen = new Screen();
  const terminal = new Terminal(screen, new Screen(), { NO_COLOR: "1" });
  await announceKey(key, terminal);
  await announceReady(server, terminal);
  const startDemo: RunningServer["startDemo"] = async (onStage) => {
    onStage?.("fetching");
    return { source_uuid: "", process_uuid };
  };
  await showDemo({ ...server, startDemo }, terminal, pino({ level: "silent" }));
  assert.equal(shown, `✓ everything is set up\n${screen.text}`);
});

test("a demo that fails for a known reason is reported with how to start it again, and logged without a stack", async () => {
  const [screen, logged] = [new Screen(), new TextWriter()];
  const terminal = new Terminal(screen, new Screen(), { NO_COLOR: "1" });
  const startDemo = async () => {
    throw new ServiceError("pipeline_failed", { detail: "this machine is too busy" });
  };
  await showDemo({ url: "", startDemo }, terminal, pino({}, logged));
  assert.match(screen.text, /failed: this machine is too busy\n.*POST \/demo/);
  assert.match(logged.text, /"detail":"this machine is too busy"/);
  assert.doesNotMatch(logged.text, /stack/);
});

test("replaying the golden with the alerts of docs/alerts.md prints the lines that are shown", async () => {
  const alerts = join(folder, "alerts.yaml");
  writeFileSync(alerts, findBlock("docs/alerts.md", "alerts").text);
  const { out } = await runLine(`npx windhover replay --from ${GOLDEN} --alerts ${alerts} --json`);
  const printed = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .map(({ clip_seconds, alert, body }) =>
      [clip_seconds, alert, body.event, ...body.tracks.map(({ track_id }: { track_id: number }) => track_id)].join(" "),
    );
  const lines = findBlock("docs/alerts.md", "replayed").text.trim().split("\n");
  const shown = lines.map((line) => line.replaceAll(/ +/g, " "));
  assert.deepEqual(shown, printed.slice(0, shown.length));
});

test("a new workspace prints what docs/workspace.md shows", async () => {
  const home = process.cwd();
  after(() => process.chdir(home));
  process.chdir(folder);
  await runLine("npx windhover init my-site");
  process.chdir("my-site");
  const { out } = await runLine("npx windhover run first clips/ball.mp4");
  const read = (text: string) =>
    text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const [printed, shown] = [read(out), read(findBlock("docs/workspace.md", "printed").text)];
  assert.deepEqual(
    printed.map(({ timestamp }) => timestamp),
    shown.map(({ timestamp }) => timestamp),
  );
  // Encoders differ.
  for (const [i, { brightness }] of printed.entries()) assert.ok(Math.abs(brightness - shown[i].brightness) < 1);
});

test("shown messages and comparisons are those of the golden", () => {
  const { active_tracks } = JSON.parse(findBlock("docs/detection.md", "message").text);
  assert.deepEqual(active_tracks, [first]);
  const { text } = findBlock("docs/detection.md", "compared");
  const { id, box, confidence } = JSON.parse(/^ +golden +(.*)$/m.exec(text)?.[1] ?? "");
  assert.deepEqual([id, box, confidence], [first.track_id, first.bbox, first.confidence]);
});

test("nginx accepts the proxy configuration", { skip: !existsSync(NGINX) && "nginx is not installed" }, () => {
  const [certificate, key] = [join(folder, "video.example.pem"), join(folder, "video.example.key")];
  const request = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    "/CN=video.example",
  ];
  execFileSync("openssl", [...request, "-out", certificate, "-keyout", key], { stdio: "ignore" });
  const { text } = findBlock("docs/operations.md", "run: nginx");
  const file = join(folder, "nginx.conf");
  const server = text.replaceAll("/etc/ssl", folder).replace("listen 443", `listen unix:${folder}/socket`);
  writeFileSync(file, `pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${server} }`);
  execFileSync(NGINX, ["-t", "-q", "-p", folder, "-c", file]);
});

test("every code block has a tested language", () => {
  const kinds = new Set(["sh", "sql", "yaml", "json", "ts", "js", "python", "nginx", "mermaid"]);
  const texts = new Set(["answer", "announced", "replayed", "compared", "printed"]);
  const others = WRITTEN.flatMap((page) =>
    page.blocks
      .filter(({ language, remark }) => !kinds.has(language) && !(language === "text" && texts.has(remark ?? "")))
      .map(({ line }) => `${page.path}:${line}`),
  );
  assert.deepEqual(others, []);
});

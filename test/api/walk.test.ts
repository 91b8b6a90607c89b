/** The scripts of docs/walk.md, each against the real service with a simulated drone, and what they leave behind. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { AccountEvent } from "../../schemas/api/account-events.ts";
import type { KeyRecord } from "../../schemas/api/keys.ts";
import type { NoticeRecord } from "../../schemas/api/notices.ts";
import type { ProcessRecord } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { loadEsbuild } from "../../setup/bundle.mjs";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { findPage } from "../docs/pages.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { reduceClip } from "./people.fixture.ts";
import { createKey, type ServiceClient } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
/** Not a measurement: only turns a hang into a failure. */
const LIMIT_MS = 280_000;

const people = testClip("vtest.avi");
const skip = people === null ? MISSING_CLIP : await withoutModel("default");

const SCRIPTS = {
  "walk.py": { command: "/usr/bin/python3", args: ["-B"], env: { PYTHONPATH: join(ROOT, "client/python") } },
  "walk.ts": { command: process.execPath, args: ["--import", import.meta.resolve("tsx")], env: {} },
} as const;
type Script = keyof typeof SCRIPTS;

const walk = (script: Script, args: readonly string[], env: NodeJS.ProcessEnv) => {
  const { command, args: first, env: own } = SCRIPTS[script];
  return run(command, [...first, join(ROOT, "docs/walk", script), ...args], {
    ...{ env: { PATH: process.env.PATH, HOME: process.env.HOME, ...own, ...env }, timeout: LIMIT_MS },
  });
};

/** Without tsx, which takes longer to load than the script runs when something is missing. */
async function bundleWalk(folder: string) {
  const outfile = join(folder, "walk.mjs");
  const entry = join(ROOT, "docs/walk/walk.ts");
  await loadEsbuild().build({
    ...{ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm" },
    external: ["bufferutil", "utf-8-validate"],
    // "ws" loads Node's modules with it.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(process.argv[1]);' },
  });
  return (args: readonly string[], env: NodeJS.ProcessEnv) =>
    run(process.execPath, [outfile, ...args], {
      ...{ env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env }, timeout: LIMIT_MS },
    });
}

describe("the walk of docs/walk.md", { skip, concurrency: true }, async () => {
  if (skip !== false) return;
  const folder = temporaryFolder();
  const service = await shareService("master");
  const { rtsp = "" } = await service.serving.event("ready");
  // Few frames: inference is most of the cost.
  const clip = await reduceClip(people ?? "", 8, 4);
  const shown = findPage("docs/walk.md").blocks.find(({ remark }) => remark === "printed")?.text ?? "";

  for (const script of Object.keys(SCRIPTS) as Script[]) {
    const name = script.replace(".", "-");
    test(`${script} prints what the page shows, and the other tenant sees nothing`, { timeout: LIMIT_MS }, async () => {
      const [account, stranger] = [`acme-${name}`, `other-${name}`];
      const key = await createKey(service, account, "--track-logger");
      const other = await createKey(service, stranger);
      const out = join(folder, name);
      const { stdout } = await walk(
        script,
        ["--url", service.url, "--rtsp", rtsp, "--clip", clip, "--out", out, "--wait-seconds", "200"],
        { WINDHOVER_KEY: key, WINDHOVER_OTHER_KEY: other },
      );
      const printed = stdout.replaceAll(account, "acme").replaceAll(stranger, "other").replaceAll(out, "walk-results");
      assert.deepEqual(comparable(printed), comparable(shown), stdout);

      const [[video, image], report] = [
        await Promise.all(["evidence.mp4", "evidence.jpg"].map((file) => readFile(join(out, file)))),
        JSON.parse(await readFile(join(out, "report.json"), "utf8")),
      ];
      assert.equal(video?.toString("latin1", 4, 8), "ftyp");
      assert.deepEqual([...(image?.subarray(0, 2) ?? [])], [0xff, 0xd8]);
      assert.ok(report.tracks.length > 0);
      await checkStored(service, key, other);
    });

    test(`${script} says what is missing`, async () => {
      const walkBriefly = script === "walk.ts" ? await bundleWalk(folder) : walk.bind(null, script);
      const failure = (args: readonly string[], env: NodeJS.ProcessEnv) =>
        walkBriefly(args, env).then(
          () => assert.fail("it succeeded"),
          ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
        );
      const none = await failure([], {});
      assert.equal(none.code, 2, none.stderr);
      assert.match(none.stderr, /set WINDHOVER_KEY and WINDHOVER_OTHER_KEY/);
      const keys = { WINDHOVER_KEY: "wh_a", WINDHOVER_OTHER_KEY: "wh_b" };
      const rejected = await failure(["--url", service.url], keys);
      assert.equal(rejected.code, 1);
      assert.match(rejected.stderr, /failed: 403 api_key_invalid: This API key does not exist/);
      assert.match((await walkBriefly(["--help"], {})).stdout, /--wait-seconds/);
    });
  }
});

/** Lines without numbers that depend on the machine, and events in any order between two steps. */
function comparable(text: string): readonly string[] {
  const lines = text
    .trim()
    .split("\n")
    .filter((line) => !/^event: process-re/.test(line))
    .map((line) => line.replaceAll(/-?\d+(\.\d+)?/g, "N"));
  const steps: string[] = [];
  for (const line of lines) {
    const last = steps.at(-1) ?? "";
    if (!last.startsWith("event: ") || !line.startsWith("event: ")) steps.push(line);
    else steps.splice(-1, 1, [...new Set([...last.split("; "), line])].sort().join("; "));
  }
  return steps;
}

async function checkStored(service: ServiceClient, key: string, other: string): Promise<void> {
  const get = <T>(path: string, as = key) => service.expect<T>(200, "GET", path, { key: as });
  const { sources } = await get<{ sources: SourceRecord[] }>("/sources");
  const [source = assert.fail("no source")] = sources;
  assert.equal(source.status, "offline");
  const { processes } = await get<{ processes: ProcessRecord[] }>("/processes?state=all");
  const [process = assert.fail("no process")] = processes;
  assert.deepEqual([process.state, process.error], ["finished", null]);
  const { notices } = await get<{ notices: NoticeRecord[] }>("/notices");
  const [notice = assert.fail("no notice")] = notices;
  assert.deepEqual([notice.process_uuid, notice.reviewed, notice.comment], [process.uuid, true, "seen by the walk"]);
  assert.ok(["ready", "partial"].includes(notice.evidence?.state ?? ""), JSON.stringify(notice.evidence));
  assert.deepEqual((await get<{ alerts: unknown[] }>("/alerts")).alerts, []);
  const { recordings } = await get<{ recordings: { stopped_at: string | null }[] }>("/sources/recordings");
  assert.ok(recordings.length > 0 && recordings.every(({ stopped_at }) => stopped_at !== null));
  const { keys } = await get<{ keys: KeyRecord[] }>("/keys?state=all");
  const valid = keys.filter(({ state }) => state === "valid");
  assert.equal(valid.length, 1, "only the first key of the account is left");
  assert.equal(keys.length, 5);
  const { events } = await get<{ events: AccountEvent[] }>("/events?after=0");
  const order = events.map(({ type }) => type).filter((type) => /^process-(waiting|started|finished)$/.test(type));
  assert.deepEqual(order, ["process-waiting", "process-started", "process-waiting", "process-finished"]);

  for (const [path, name] of [
    ...[
      ["/sources", "sources"] as const,
      ["/processes?state=all", "processes"] as const,
      ["/notices", "notices"] as const,
    ],
    ...[["/events", "events"] as const, ["/sources/recordings", "recordings"] as const],
    ["/tracked_processes", "tracked_processes"] as const,
  ])
    assert.deepEqual((await get<Record<string, unknown>>(path, other))[name], [], `${path} of the other tenant`);
  for (const path of [`/source/${source.uuid}`, `/process/${process.uuid}/tracks`, `/notice/${notice.uuid}/clip`])
    assert.equal((await service.call("GET", path, { key: other })).status, 404, path);
}

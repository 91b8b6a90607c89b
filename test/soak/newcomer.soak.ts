/**
 * The way of a newcomer, from an empty folder to a graph in the service: by the real command in child processes, and by the
 * calls that docs/workspace.md shows. Prints the time of each step.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ServingFolder } from "../../cli/serve/serving.fixture.ts";
import { type Running, spawnWindhover, start } from "../../cli/windhover.fixture.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import type { ShadowRecord } from "../../schemas/api/shadows.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { buildElementPackage, isElementPackageBuilt } from "../../setup/element-package.mjs";
import { findPage } from "../docs/pages.ts";
import { takeTour } from "../docs/tour.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { encodeStreet } from "../golden/street.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";

const noModel = await withoutModel("default");
/** 4 s, which are repeated. */
const FRAMES = 100;
const REPEATS = 60;
const SITE = "my-site";

let folder: ServingFolder;
let site: string;
const times: { readonly step: string; readonly seconds: number }[] = [];

before(async () => {
  if (!isElementPackageBuilt()) await buildElementPackage();
  folder = await ServingFolder.make({ isNew: true });
  site = join(folder.path, SITE);
});
after(() => folder?.close());

async function time<T>(step: string, work: () => Promise<T>): Promise<T> {
  const beganMs = performance.now();
  const result = await work();
  times.push({ step, seconds: (performance.now() - beganMs) / 1000 });
  return result;
}

async function command(code: number, ...words: readonly string[]): Promise<string> {
  const outcome = await spawnWindhover(words, site);
  assert.equal(outcome.code, code, outcome.stdout + outcome.stderr);
  return outcome.stdout + outcome.stderr;
}

const edit = (file: string, from: string, to: string): void => {
  const path = join(site, file);
  const text = readFileSync(path, "utf8");
  assert.ok(text.includes(from), `${file} has no ${from}`);
  // At once, as editors do.
  writeFileSync(`${path}.part`, text.replace(from, to));
  renameSync(`${path}.part`, path);
};

test("a workspace: created, run, and its element changed while it runs", { timeout: 600_000 }, async () => {
  await time("init", async () => {
    const { code, stderr } = await spawnWindhover(["init", SITE], folder.path);
    assert.equal(code, 0, stderr);
  });
  await time("run", () => command(0, "run", "first", "clips/ball.mp4"));
  const watching = await time("run --watch", async () => {
    const running = start(["run", "first", "clips/ball.mp4", "--watch", "--pace", "realtime"], site);
    await running.until(({ stdout }) => stdout.includes('"brightness":20.3'));
    return running;
  });
  const ELEMENT = "elements/brightness/brightness.ts";
  const [GOOD, BROKEN] = ["const [luma] = frame.planes;", "const [luma = frame.planes;"];
  const seen = (running: Running) => running.stdout.split("\n").filter((line) => line.includes('"brightness":')).length;
  await time("change the element", async () => {
    edit(ELEMENT, "Math.round(meanOf(luma) * 10) / 10", "-Math.round(meanOf(luma))");
    await watching.until(({ stdout }) => stdout.includes('"brightness":-20'));
  });
  await time("break the element", async () => {
    edit(ELEMENT, GOOD, BROKEN);
    await watching.until(({ stdout, stderr }) =>
      /not reloaded: elements\/brightness\/brightness\.ts:\d+:\d+: /.test(stdout + stderr),
    );
    const before = seen(watching);
    await watching.until(() => seen(watching) > before + 1);
  });
  await time("fix the element", async () => {
    edit(ELEMENT, BROKEN, GOOD);
    await watching.until(({ stdout, stderr }) => (stdout + stderr).includes(`${ELEMENT} is the code that runs`));
  });
  watching.child.kill("SIGINT");
  assert.equal((await watching.done).code, 0);
});

test("its tests fail and pass", { timeout: 600_000 }, async () => {
  await time("test: the golden file differs", async () => {
    const printed = await command(1, "test");
    assert.match(printed, /brightness is -20, was 20\.3; if this is right, accept it with `windhover test /);
  });
  await time("test: the new result is accepted", async () => {
    await command(0, "test", "graphs/first.yaml", "--only", "ball", "--record");
    await command(0, "test");
  });
  const TEST = "  half: { clip: ../clips/ball.mp4, frames: 50, expect: { frames: 49 } }\n";
  writeFileSync(join(site, "graphs/first.yaml"), readFileSync(join(site, "graphs/first.yaml"), "utf8") + TEST);
  await time("test: a new one fails", async () =>
    assert.match(await command(1, "test"), /graphs\/first\.yaml:\d+:\d+: frames is 50; expected 49/),
  );
  edit("graphs/first.yaml", "frames: 49", "frames: 50");
  await time("test: it passes", () => command(0, "test"));
  // As the page shows it.
  edit("elements/brightness/brightness.ts", "-Math.round(meanOf(luma))", "Math.round(meanOf(luma) * 10) / 10");
});

test("in the service: stored, started, upgraded, rolled back, tested and compared", {
  skip: noModel,
  timeout: 600_000,
}, async () => {
  const env = { WINDHOVER_DATA_DIR: undefined, WINDHOVER_HTTP_CHECK_ANSWERS: undefined };
  const serving = folder.serve({ cwd: site, env });
  const url = await time("serve", () => serving.url());
  const printed = await time("keys create", () => command(0, "keys", "create", "site-author", "--graph-author"));
  const key = /wh_\S+/.exec(printed)?.[0] ?? assert.fail(printed);
  const page = findPage("docs/workspace.md");
  const faults = await takeTour(page, {
    ...{ folder: site, env: { KEY: key }, places: { "localhost:8080": new URL(url).host } },
    onStep: (step, seconds) => times.push({ step, seconds }),
  });
  assert.deepEqual(faults, []);

  const call = async <T>(method: string, path: string, body?: string | FormData, type?: string): Promise<T> => {
    const headers = { api_key: key, ...(type !== undefined && { "content-type": type }) };
    const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body }) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${text}`);
    return JSON.parse(text) as T;
  };
  const clip = readFileSync(await encodeStreet(temporaryFolder(), FRAMES, REPEATS));
  const watch =
    findPage("docs/graphs.md").blocks.find(({ text }) => text.startsWith("graph: watch\n")) ?? assert.fail();
  const shadow = await time("shadow", async () => {
    const form = new FormData();
    form.append("file", new Blob([new Uint8Array(clip)]), "street.mp4");
    const { uuid: source } = await call<SourceRecord>("POST", "/video", form);
    await call("PUT", "/graphs/street", watch.text.replace("graph: watch", "graph: street"), "application/yaml");
    const { process_uuid } = await call<StartedProcess>("POST", `/start?source_uuid=${source}&graph=street`);
    const path = `/process/${process_uuid}/shadow`;
    const only = watch.text.replace("graph: watch", "graph: street").replace("[person, car]", "[person]");
    await call("PUT", "/graphs/street", only, "application/yaml");
    await call("POST", path, JSON.stringify({ graph: "street@2", frames: 5 }), "application/json");
    const ended = await poll("the shadow has ended", async () => {
      const record = await call<ShadowRecord>("GET", path);
      assert.notEqual(record.state, "failed", record.error ?? "");
      return record.state === "finished" ? record : null;
    });
    await call("DELETE", `/process/${process_uuid}`);
    await call("DELETE", "/graphs/street");
    return ended;
  });
  assert.ok(shadow.comparison.frames.compared >= 5);
  assert.equal(await time("stop", () => serving.stop()), 0);
});

test("how long it took", (t) => {
  for (const { step, seconds } of times) t.diagnostic(`${seconds.toFixed(1).padStart(6)} s  ${step}`);
  assert.ok(readdirSync(site).includes("windhover.yaml"));
});

/** The service with graphs and elements of the operator: confined runners run them, and clients reach nothing else. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { elementText, SETTINGS, writeFiles } from "../../elements/outside.fixture.ts";
import { makeClip } from "../../test/graph.fixture.ts";
import { poll } from "../../test/watch.fixture.ts";
import { type Serving, ServingFolder } from "./serving.fixture.ts";

const GRAPH = "graph: mine\nabout: Mine.\nchains:\n  main: [source, decode, reader, fakesink]\n";
let folder: ServingFolder;
let serving: Serving;
let url = "";
let key = "";

before(async () => {
  folder = await ServingFolder.make();
  writeFiles(folder.path, {
    "windhover.yaml": SETTINGS,
    "models/README.md": "",
    "graphs/mine.yaml": GRAPH,
    "graphs/versions.yaml": GRAPH.replace("graph: mine", "graph: versions").replace("reader", "versions"),
    "elements/versions/versions.ts": versions(1),
    "elements/reader/beside.txt": "a",
    "elements/broken/broken.ts": "export default {\n",
    "elements/reader/reader.ts": elementText("reader", {
      above: 'import { readFileSync } from "node:fs";',
      create: `const read = (path: string) => {
      try { return readFileSync(path, "utf8").length; } catch (error) { return (error as { code: string }).code; }
    };
    const reads = [read("${join(folder.path, "elements/reader/beside.txt")}"), read("${join(folder.path, "windhover.yaml")}")];
    return { process(frame) { if (frame.index === 0) services.log.warn("reads " + reads.join()); } };`,
    }),
  });
  serving = folder.serve({
    env: { WINDHOVER_BOOTSTRAP_KEY: "workspace-test-key-1", WINDHOVER_ELEMENTS_WATCH: "true" },
  });
  url = await serving.url();
  key = "workspace-test-key-1";
});
after(() => folder.close());

const ask = (path: string, init: RequestInit = {}) =>
  fetch(url + path, { ...init, headers: { ...init.headers, api_key: key } });

const versions = (number: number): string =>
  elementText("versions", {
    create: `let isNew = true;
    return { process() { if (isNew) services.log.warn("version ${number}"); isNew = false; } };`,
  });

async function addClip(frames = 50): Promise<string> {
  const form = new FormData();
  const clip = await readFile(await makeClip(folder.path, frames, "width=64&height=48"));
  form.append("file", new Blob([new Uint8Array(clip)]), "clip.mp4");
  return ((await (await ask("/video", { method: "POST", body: form })).json()) as { uuid: string }).uuid;
}

test("a confined runner runs an element of the operator, which reads its own folder and not the workspace", async () => {
  const names = async (path: string) => JSON.stringify(await (await ask(path)).json());
  assert.match(await names("/graphs"), /"mine"/);
  assert.match(await names("/elements"), /"reader"/);
  assert.match(serving.stderr, /"element":"broken","place":"elements\/broken\/broken\.ts:2:1"/);
  const started = await ask(`/start?source_uuid=${await addClip()}&graph=mine`, { method: "POST" });
  assert.equal(started.status, 201, await started.text());
  const [, own, other] = await poll("what the element reads", () => /reads (\w+),(\w+)/.exec(serving.stderr));
  assert.equal(own, "1");
  const [, landlock] = /"landlock":(\d)/.exec(serving.stderr) ?? [];
  if (landlock !== "0") assert.equal(other, "EACCES");
});

test("with elements.watch, the code of an element is replaced in a running process", async () => {
  const uuid = await addClip(5_000);
  const started = await ask(`/start?source_uuid=${uuid}&graph=versions`, { method: "POST" });
  assert.equal(started.status, 201, await started.text());
  await poll("the first version", () => /version 1/.test(serving.stderr));
  const file = "elements/versions/versions.ts";
  writeFiles(folder.path, { [file]: "export default {\n" });
  await poll("the fault", () =>
    /"place":"elements\/versions\/versions\.ts:2:1".*element not reloaded/.test(serving.stderr),
  );
  writeFiles(folder.path, { [file]: versions(2).replace("return {", "throw new Error('not today'); return {") });
  await poll("the rejection", () => /not reloaded: versions: not today at Object\.create/.test(serving.stderr));
  writeFiles(folder.path, { [file]: versions(3).replace("Test:", "Third:") });
  await poll("the new version", () => /version 3/.test(serving.stderr));
  assert.doesNotMatch(serving.stderr, /version 2|runner crashed/);
  assert.match(await (await ask("/elements")).text(), /Third: versions/);
});

test("a client cannot name a graph by its path, nor try an element of the operator", async () => {
  const source = await addClip();
  for (const graph of ["../graphs/mine", "graphs/mine.yaml", join(folder.path, "graphs/mine")]) {
    const answer = await ask(`/start?source_uuid=${source}&graph=${encodeURIComponent(graph)}`, { method: "POST" });
    assert.ok([400, 404, 422].includes(answer.status), `${graph}: ${answer.status}`);
  }
  const tried = await ask("/graphs/try", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ yaml: GRAPH, source_uuid: source }),
  });
  assert.ok(!tried.ok);
  assert.match(await tried.text(), /reader/);
});

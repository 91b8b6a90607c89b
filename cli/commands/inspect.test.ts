import assert from "node:assert/strict";
import { test } from "node:test";
import { windhover } from "../windhover.fixture.ts";

test("GStreamer's elements and ours are described with their properties", async () => {
  const [queue, stage, print] = await Promise.all(
    ["queue", "stage", "print"].map((name) => windhover(["inspect", name])),
  );
  assert.equal(queue?.code, 0);
  assert.match(queue?.stdout ?? "", /max-size-buffers +integer from 0 to 4294967295; default 200; live/);
  assert.match(queue?.stdout ?? "", /downstream +Leaky on downstream/);
  assert.match(
    stage?.stdout ?? "",
    /buffers +integer from 1 to 1000; default 8; live\n +Maximum number of queued frames\./,
  );
  assert.match(print?.stdout ?? "", /Properties\n/);
  assert.match(print?.stdout ?? "", /Example\n {2}graph: print-example/);
  for (const page of [queue, stage, print])
    for (const line of page?.lines ?? []) assert.ok(line.length <= 80, `wider than 80 columns: ${line}`);
});

test("lists Windhover's elements first, and filters by a word", async () => {
  const [all, found] = await Promise.all([windhover(["inspect"]), windhover(["inspect", "--find", "H264"])]);
  assert.match(all.lines[0] ?? "", /^windhover +alerts /);
  assert.ok(all.lines.some((line) => /^coreelements +queue +Queue$/.test(line)));
  assert.ok(found.lines.length > 0 && found.lines.length < all.lines.length);
  for (const line of found.lines) assert.match(line, /h264|windhover/i);
});

test("finds a word in properties and shows where", async () => {
  const [leaks, json] = await Promise.all([
    windhover(["inspect", "--find", "queue leaks"]),
    windhover(["inspect", "--find", "X position of the PICTURE", "--json"]),
  ]);
  assert.deepEqual(
    leaks.lines.map((line) => line.trim()),
    ["coreelements  queue  Queue", "leaky  Where the queue leaks, if at all"],
  );
  const found = JSON.parse(json.stdout) as { name: string; matched: { where: string; text: string }[] }[];
  const mixer = found.find(({ name }) => name === "compositor");
  assert.deepEqual(mixer?.matched, [{ where: "sink_%u::xpos", text: "X Position of the picture" }]);
});

test("suggests the nearest name for an unknown element", async () => {
  const { code, stdout, stderr } = await windhover(["inspect", "qeue"]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /there is no element "qeue"; did you mean "queue"\?/);
});

test("JSON is the registry's own description", async () => {
  const { stdout } = await windhover(["inspect", "--json", "queue"]);
  const { properties } = JSON.parse(stdout) as { properties: Record<string, { kind: string }> };
  assert.equal(properties["max-size-buffers"]?.kind, "integer");
});

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import type { NodeListing, NodeRecord } from "../../schemas/api/nodes.ts";
import { ClusterNode } from "../../server/cluster/node.ts";
import { silentLog, testDatabase } from "../../server/store/database.fixture.ts";
import type { NodeFacts } from "../../server/store/nodes.ts";
import { CommandFailure, readArguments, UsageFault } from "../command.ts";
import { COMMANDS } from "../commands.ts";
import { Terminal } from "../terminal.ts";
import { makeFolder, windhover } from "../windhover.fixture.ts";

const database = await testDatabase();
const folder = makeFolder();
writeFileSync(
  join(folder, "windhover.yaml"),
  `database:\n  url: ${JSON.stringify(database.url)}\ncluster: { url: "http://10.0.0.1:8080/" }\n`,
);

const joinAs = (facts: Partial<NodeFacts>): Promise<ClusterNode> =>
  ClusterNode.join({ sql: database.sql, log: silentLog, isAlone: false, limits: { renewMs: 100 } }, facts);
const first = await joinAs({
  ...{
    version: "0.2.0",
    url: "http://10.0.0.1:8080",
    labels: { site: "north", gpu: "no" },
    cores: 6,
    maxProcesses: 20,
  },
  load: { cores: 1.26, memoryBytes: 1e9 },
});
const second = await joinAs({ version: "0.1.0", url: "http://10.0.0.2:8080" });
after(async () => {
  await Promise.all([first.leave(), second.leave()]);
  await database.close();
});

async function nodes(name: string, ...args: string[]): Promise<string> {
  const entry = COMMANDS.nodes;
  assert.ok(entry !== undefined && "commands" in entry);
  const command = (await entry.commands[name]?.load()) ?? assert.fail(name);
  const output = new PassThrough().setEncoding("utf8");
  const given = readArguments(command, [...args, "--config", join(folder, "windhover.yaml")]);
  await command.run(given, new Terminal(output, new PassThrough(), {}));
  return output.read() ?? "";
}

/** By the node itself. */
async function learns(node: ClusterNode, isDraining: boolean): Promise<void> {
  while ((node.drainsUntil !== null) !== isDraining) await new Promise((resolve) => setTimeout(resolve, 20));
}

test("lists the nodes with capacity, use, labels and address; without a subcommand, too", async () => {
  const table = await nodes("list");
  const [, one = "", other = ""] = table.split("\n");
  assert.match(
    one,
    new RegExp(`^${first.uuid} +live +0\\.2\\.0 +0/20 +0/6 +1\\.3 +.*site=north.* +http://10\\.0\\.0\\.1:8080$`),
  );
  assert.match(other, new RegExp(`^${second.uuid} +live +0\\.1\\.0 +0 +0 +- +- +http://10\\.0\\.0\\.2:8080$`));
  const [bare, json] = await Promise.all([windhover(["nodes"], folder), windhover(["nodes", "--json"], folder)]);
  assert.equal(bare.stdout, table);
  const listing: NodeListing = JSON.parse(json.stdout);
  assert.equal(listing.waiting, 0);
  assert.deepEqual(
    listing.nodes.map(({ uuid, is_this }) => [uuid, is_this]),
    [
      [first.uuid, true],
      [second.uuid, false],
    ],
  );
});

test("drains and undrains a node by its uuid, and this machine's node", async () => {
  assert.equal(await nodes("drain", second.uuid), `${second.uuid}  draining  0 processes\n`);
  await learns(second, true);
  assert.equal(first.drainsUntil, null);
  assert.equal(await nodes("undrain", second.uuid.toUpperCase()), `${second.uuid}  live  0 processes\n`);
  await learns(second, false);

  const beganMs = Date.now();
  const drained: NodeRecord = JSON.parse(await nodes("drain", "--this", "--seconds", "300", "--json"));
  assert.deepEqual([drained.uuid, drained.state], [first.uuid, "draining"]);
  assert.ok(Date.parse(drained.drains_until ?? "") - beganMs > 200_000);
  await learns(first, true);
  assert.match(await nodes("undrain", "--this"), /live/);
  await learns(first, false);
});

test("rejects what is not one live node", async () => {
  const lost = await joinAs({ version: "0.1.0", url: "http://10.0.0.3:8080" });
  await lost.leave();
  const rejected = (args: readonly string[], kind: typeof UsageFault | typeof CommandFailure, words: RegExp) =>
    assert.rejects(nodes("drain", ...args), (error) => error instanceof kind && words.test(error.message));
  await rejected([], UsageFault, /missing: UUID/);
  await rejected([second.uuid, "--this"], UsageFault, /no UUID with --this/);
  await rejected([lost.uuid], CommandFailure, /there is no node/);
  await rejected([commonBeginning(first.uuid, second.uuid)], CommandFailure, /is the beginning of 2 nodes/);
  await rejected(["--this", "--seconds", "0"], UsageFault, /--seconds is "0"/);
  await rejected(["--this", "--seconds", "100000"], UsageFault, /at most 86400/);
  await first.leave();
  await rejected(["--this"], CommandFailure, /no live node has the URL http:\/\/10\.0\.0\.1:8080/);
});

function commonBeginning(one: string, other: string): string {
  let length = 0;
  while (one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

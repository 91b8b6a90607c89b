/** The page of nodes, on two nodes that share a database. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import type { TestService } from "../api/service.fixture.ts";
import { startCamera } from "../camera.fixture.ts";
import { ownRecord, start, TestCluster } from "../cluster/cluster.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";
import { goTo, photograph, signIn } from "./console-visitor.fixture.ts";

const [camera, browser] = await Promise.all([startCamera(), openBrowser()]);
const cluster = await TestCluster.start(1, {
  ...{ WINDHOVER_CLUSTER_PROCESSES: "4", WINDHOVER_CLUSTER_CORES: "2" },
  ...{ WINDHOVER_CLUSTER_MEMORY_BYTES: "8000000000", WINDHOVER_CLUSTER_LABELS: "site=north" },
});
const second = await cluster.add({ WINDHOVER_CLUSTER_LABELS: "site=south,gpu=no" });
const [first] = cluster.nodes as [TestService];
after(async () => {
  await browser.close();
  await cluster.close();
  await camera.kill();
});

const nameOf = async (service: TestService): Promise<string> => new URL((await ownRecord(service)).url ?? "").host;
const rowOf = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });

test("an operator sees all nodes, drains one and ends it", async () => {
  const source = await first.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias: "yard", stream_type: "rtsp", input_url: camera.url },
  });
  await start(first, source.uuid, { node_labels: { site: "south" } });
  const page = await signIn(browser, first.url);
  await goTo(page, "Nodes");
  const name = await nameOf(second);
  const other = rowOf(page, name);
  await rowOf(page, await nameOf(first))
    .getByText("answers here")
    .waitFor();
  await other.getByText("1 of 4").waitFor();
  await other.getByText("site=south").waitFor();
  // Measured every few seconds.
  await page
    .getByText(/ in use/)
    .nth(3)
    .waitFor();
  await photograph(page, "nodes");

  await page.getByRole("button", { name: `Drain ${name}` }).click();
  await page.getByRole("dialog").getByText("Its process moves to another node").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Drain" }).click();
  await other.getByText("draining", { exact: true }).waitFor();
  assert.equal((await ownRecord(second)).state, "draining");
  await photograph(page, "nodes-draining");
  await page.getByRole("button", { name: `End draining of ${name}` }).click();
  await other.getByText("live", { exact: true }).waitFor();
  assert.equal((await ownRecord(second)).state, "live");
});

test("processes that no node can take are shown as waiting", async () => {
  const page = await signIn(browser, first.url, { page: "nodes" });
  const name = await nameOf(second);
  await second.serving.stop("SIGKILL");
  await rowOf(page, name).getByText("lost", { exact: true }).waitFor();
  await page.getByText("1 process waits for room.").waitFor();
  await photograph(page, "nodes-waiting");
  assert.deepEqual(browser.complaints, []);
});

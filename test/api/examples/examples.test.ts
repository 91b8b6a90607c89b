/** Every operation of the API has an example, and a real service answers it as recorded. One service for all of them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { CLIENT, openProvider } from "../../../server/api/identity-provider.fixture.ts";
import { drawTile, writePmTiles } from "../../../server/map/pmtiles.fixture.ts";
import { spawnPublisher } from "../../../server/media/publisher.fixture.ts";
import { writeHgt } from "../../../terrain/terrain.fixture.ts";
import { withoutModel } from "../../golden/golden.fixture.ts";
import { encodeStreet } from "../../golden/street.fixture.ts";
import { makeClip, temporaryFolder } from "../../graph.fixture.ts";
import { createKey, TestService } from "../service.fixture.ts";
import { callAccounts, callPages } from "./accounts.fixture.ts";
import { checkDocument } from "./document.fixture.ts";
import { ExampleNames } from "./example-names.fixture.ts";
import { ExampleRun } from "./example-run.fixture.ts";
import { callGraphs, callRunningGraph } from "./graphs.fixture.ts";
import { callMediaServer } from "./media.fixture.ts";
import { checkMessages, Receiver } from "./messages.fixture.ts";
import { callNotifications } from "./notifications.fixture.ts";
import { callProcesses, endProcesses, startMain } from "./processes.fixture.ts";
import { callSources, endSources } from "./sources.fixture.ts";
import type { World } from "./world.fixture.ts";

const noModel = await withoutModel("default");
const FRAMES = 75;

test("every operation has an example, which the service answers as recorded", {
  skip: noModel,
  timeout: 600_000,
}, async (t) => {
  const folder = temporaryFolder();
  const clip = await encodeStreet(folder, FRAMES);
  writeHgt(
    folder,
    [48, 11],
    1201,
    (latitude, longitude) => 800 * Math.exp(-((latitude - 48.5) ** 2 + (longitude - 11.5) ** 2) / 0.002),
  );
  const tiles = writePmTiles(join(folder, "map.pmtiles"), [{ z: 2, x: 1, y: 1, data: drawTile([180, 210, 170]) }]);
  const receiver = new Receiver();
  const receiverUrl = await receiver.open();
  after(() => receiver.close());
  let redirect = "";
  const provider = await openProvider({}, () => redirect);
  after(() => provider.close());

  const service = await TestService.start({
    env: {
      ...{ WINDHOVER_DEMO_CLIP: clip, WINDHOVER_MAP_TILES: tiles, WINDHOVER_TERRAIN_FOLDER: folder },
      ...{ WINDHOVER_OIDC_ISSUER: provider.issuer, WINDHOVER_OIDC_CLIENT_ID: CLIENT.id },
      ...{
        WINDHOVER_OIDC_CLIENT_SECRET: CLIENT.secret,
        WINDHOVER_OIDC_NAME: "Example",
        WINDHOVER_OIDC_ACCOUNT: "acme",
      },
      ...{ WINDHOVER_OIDC_VIEWERS: "viewers" },
    },
  });
  after(() => service.close());
  redirect = `${service.url}/sign_in/oidc/callback`;
  const { rtsp = "", rtmp = "" } = await service.serving.event("ready");
  const rights = ["--track-logger", "--recording", "--enhancement", "--graph-author"];
  const key = await createKey(service, "acme", ...rights, "--operator", "--minutes", "10000", "--pending", "6000");
  await createKey(service, "acme-north", "--master", "acme", "--minutes", "500");

  const host = "windhover.example.com";
  const names = new ExampleNames({
    [service.url]: `https://${host}`,
    [service.url.replace(/^http/, "ws")]: `wss://${host}`,
    [new URL(service.url).host]: host,
    [rtsp]: `rtsp://${host}:8554`,
    [rtmp]: `rtmp://${host}:1935`,
    [receiverUrl]: "https://receiver.example.com",
    [provider.issuer]: "https://login.example.com",
    [encodeURIComponent(service.url)]: encodeURIComponent(`https://${host}`),
    [folder]: "/srv/windhover",
  });
  const run = new ExampleRun(service, key, names);
  const world: World = {
    ...{ rtmp, key },
    receiver: `${receiverUrl}/windhover`,
    clip: readFileSync(clip),
    flight: readFileSync(await makeClip(folder, 100)),
    publish(url) {
      const publisher = spawnPublisher(url);
      after(() => publisher.kill("SIGKILL"));
      return publisher;
    },
  };

  const ids = { video: "", camera: "", process: "" };
  const sections: readonly (readonly [string, () => Promise<void>])[] = [
    ["accounts and keys", () => callAccounts(run)],
    ["pages", () => callPages(run)],
    ["sources", async () => void Object.assign(ids, await callSources(run, world))],
    ["the start of a process", async () => void Object.assign(ids, { process: await startMain(run, ids) })],
    ["processes", () => callProcesses(run, ids)],
    ["notifications", () => callNotifications(run, world, ids)],
    ["messages fit the AsyncAPI document", () => checkMessages(run, world, ids, receiver)],
    ["the graph of a process", () => callRunningGraph(run, ids)],
    // Before the other sections: it would run beside them.
    ["the end of processes", () => endProcesses(run, ids)],
    ["graphs", () => callGraphs(run, ids)],
    ["media server", () => callMediaServer(run, world, ids)],
    ["the end of sources", () => endSources(run, ids)],
  ];
  for (const [name, section] of sections) await t.test(name, section);
  await t.test("no operation is without an example", () => assert.deepEqual(run.findMissing(), []));
  await t.test("the answers are as recorded", () => assert.deepEqual(run.findDifferences(), []));
  await t.test("the examples of the document fit its schemas", () =>
    assert.deepEqual(checkDocument(service.contract), []),
  );
});

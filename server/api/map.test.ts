/** The map over HTTP: a real PMTiles file, a real terrain folder and its thread. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { PNG } from "pngjs";
import { writeHgt } from "../../terrain/terrain.fixture.ts";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { openMapTiles } from "../map/map-tiles.ts";
import { drawTile, writePmTiles } from "../map/pmtiles.fixture.ts";
import { TerrainTiles } from "../map/terrain-tiles.ts";
import { ServiceError } from "../service-error.ts";
import { makeUser, openApp } from "./app.fixture.ts";
import { mapEndpoints } from "./map.ts";
import { consoleEndpoints } from "./web-pages.ts";

const folder = temporaryFolder();
const TILE = drawTile([180, 210, 170]);
const tiles = await openMapTiles({
  tiles: writePmTiles(join(folder, "map.pmtiles"), [{ z: 2, x: 1, y: 1, data: TILE }]),
  ...{ attribution: "© them", max_zoom: 19 },
});
// A round hill in the middle of the degree.
writeHgt(
  folder,
  [48, 11],
  1201,
  (latitude, longitude) => 800 * Math.exp(-((latitude - 48.5) ** 2 + (longitude - 11.5) ** 2) / 0.002),
);
const terrain = new TerrainTiles(folder, 92.6, { queuedPerKey: 2 });
const users = [makeUser("ann"), makeUser("bob")];
const authenticate = async (key: string | null) => {
  const user = users.find(({ username }) => username === key);
  if (user === undefined) throw new ServiceError("api_key_invalid", { detail: "there is no such key" });
  return user;
};
const app = await openApp(mapEndpoints({ tiles, terrain }), { authenticate });
const plain = await openApp(mapEndpoints({ tiles: null, terrain: null }), { authenticate });
after(async () => {
  await app.close(0);
  await plain.close(0);
  await terrain.close();
  await tiles?.close();
});

const get = (path: string, key = "ann", from = app) => from.call(path, { headers: { api_key: key } });
/** Around the hill, at zoom 11. */
const HILL = "/map/terrain/11/1089/707";

test("says what maps are made of", async () => {
  assert.deepEqual(await (await get("/map")).json(), {
    tiles: { url: "/map/tiles/{z}/{x}/{y}", min_zoom: 2, max_zoom: 2, attribution: "© them" },
    terrain: { url: "/map/terrain/{z}/{x}/{y}", min_zoom: 9, max_zoom: 11 },
  });
  assert.deepEqual(await (await get("/map", "ann", plain)).json(), { tiles: null, terrain: null });
});

test("sends tiles of the file, 204 where there is none, and 404 outside the world and without a file", async () => {
  const answer = await get("/map/tiles/2/1/1");
  assert.equal(answer.headers.get("content-type"), "image/png");
  assert.match(answer.headers.get("cache-control") ?? "", /^private/);
  assert.deepEqual(Buffer.from(await answer.arrayBuffer()), TILE);
  for (const [path, status, from] of [
    ["/map/tiles/2/0/0", 204, app],
    ["/map/tiles/9/0/0", 204, app],
    ["/map/tiles/2/4/1", 404, app],
    ["/map/tiles/2/1/-1", 404, app],
    ["/map/tiles/2/01/1", 404, app],
    ["/map/tiles/25/1/1", 404, app],
    ["/map/tiles/2/1/1", 404, plain],
    [HILL, 404, plain],
  ] as const)
    assert.equal((await get(path, "ann", from)).status, status, path);
  assert.equal((await get("/map/tiles/2/1/1", "nobody")).status, 403);
});

test("shades a hill: bright in the north-west, dark in the south-east, nothing around it", async () => {
  const answer = await get(HILL);
  assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "image/png"]);
  const image = PNG.sync.read(Buffer.from(await answer.arrayBuffer()));
  assert.deepEqual([image.width, image.height], [256, 256]);
  const shades = { white: 0, black: 0 };
  for (let at = 0; at < image.data.length; at += 4) {
    const opacity = image.data[at + 3] ?? 0;
    if (opacity > 10) shades[(image.data[at] ?? 0) > 128 ? "white" : "black"] += 1;
  }
  assert.ok(shades.white > 500 && shades.black > 500, JSON.stringify(shades));
  for (const path of ["/map/terrain/11/1000/707", "/map/terrain/8/136/88", "/map/terrain/12/2178/1414"])
    assert.equal((await get(path)).status, 204, path);
  assert.equal((await get(HILL, "nobody")).status, 403);
});

test("a key with many requests gets 429 beyond its queue, and another key is served in between", async () => {
  // New tiles: those above are kept.
  const paths = Array.from({ length: 12 }, (_, i) => `/map/terrain/10/${540 + (i % 4)}/${350 + Math.floor(i / 4)}`);
  const order: string[] = [];
  const ask = async (path: string, key: string): Promise<number> => {
    const { status } = await get(path, key);
    order.push(`${key} ${status}`);
    return status;
  };
  const greedy = paths.map((path) => ask(path, "ann"));
  const other = await ask("/map/terrain/10/544/354", "bob");
  const statuses = await Promise.all(greedy);
  assert.ok([200, 204].includes(other));
  assert.ok(statuses.includes(429), order.join());
  assert.ok(
    statuses.some((status) => status === 200 || status === 204),
    order.join(),
  );
});

test("the policy of the console allows images of the configured host only", async () => {
  const far = await openMapTiles({ tiles: "https://{s}.example.org/{z}/{x}/{y}.png", attribution: "", max_zoom: 19 });
  for (const [origins, images] of [
    [far?.origins, "'self' blob: data: https://a.example.org https://b.example.org https://c.example.org"],
    [tiles?.origins, "'self' blob: data:"],
    [undefined, "'self' blob: data:"],
  ] as const) {
    const pages = await openApp(consoleEndpoints(folder, null, origins));
    const policy = (await pages.call("/console/assets/icon.svg")).headers.get("content-security-policy") ?? "";
    assert.equal(
      policy.split("; ").find((part) => part.startsWith("img-src")),
      `img-src ${images}`,
    );
    assert.match(policy, /connect-src 'self';/);
    await pages.close(0);
  }
});

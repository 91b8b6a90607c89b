/** Examples of the tags Information, Keys, Map and Operations. */

import type { Static } from "typebox";
import type { KeyRecord } from "../../../schemas/api/keys.ts";
import type { NodeListing } from "../../../schemas/api/nodes.ts";
import type { ExampleRun } from "./example-run.fixture.ts";

export async function callAccounts(run: ExampleRun): Promise<void> {
  await run.call("getStatus", 200);
  await run.call("login", 200);
  await run.call("loginByPost", 200);
  await run.call("allocateMinutes", 200, { json: { username: "acme-north", minutes: 100 } });
  await run.call("getUserInfo", 200);
  await run.call("getInfo", 200);

  const { uuid } = await run.call<KeyRecord>("createKey", 201, {
    json: { name: "dashboard", scopes: ["read"], expires_at: "2030-01-01T00:00:00Z" },
  });
  const params = { key_uuid: uuid };
  await run.call("listKeys", 200, { query: { limit: "10" } });
  await run.call("readKey", 200, { params });
  await run.call("changeKey", 200, { params, json: { name: "dashboard of the lobby" } });
  const rotated = await run.call<KeyRecord>("rotateKey", 201, { params, json: { overlap_seconds: 3600 } });
  await run.call("revokeKey", 200, { params: { key_uuid: rotated.uuid } });
  await run.call("listAccounts", 200);
  await run.call("changeAccount", 200, {
    params: { username: "acme-north" },
    json: { limits: { processes: 2 }, track_logger: true },
  });

  await run.call("readSignInOptions", 200);
  await run.call("beginSignIn", 303);
  await run.call("finishSignIn", 303, { query: { code: "code-of-the-provider", state: "state-of-the-browser" } });
  await run.call("signOut", 200);
}

export async function callPages(run: ExampleRun): Promise<void> {
  await run.call("readMap", 200);
  await run.call("downloadMapTile", 200, { params: { z: "2", x: "1", y: "1" } });
  await run.call("downloadTerrainTile", 200, { params: { z: "11", x: "1089", y: "707" } });

  await run.call("getConsole", 200);
  await run.call("getConsolePage", 200, { params: { page: "sources" } });
  await run.call("getConsoleThing", 200, { params: { page: "graphs", thing: "detect" } });
  await run.call("getConsolePart", 200, { params: { page: "graphs", thing: "detect", part: "versions" } });
  await run.call("getConsoleAsset", 200, { params: { file: "icon.svg" } });
  await run.call("getPlayerFile", 200, { params: { file: "player.css" } });

  await run.call("isAlive", 200);
  await run.call("isReady", 200);
  await run.call("readMetrics", 200);
  const { nodes } = await run.call<Static<typeof NodeListing>>("listNodes", 200);
  const params = { node_uuid: nodes[0]?.uuid ?? "" };
  await run.call("drainNode", 200, { params, json: { seconds: 600 } });
  await run.call("undrainNode", 200, { params });

  await run.call("startDemo", 201);
  await run.call("readDemo", 200);
  await run.call("stopDemo", 200);

  await run.call("getOpenApi", 200, { only: ["openapi", "info", "servers"] });
  await run.call("getAsyncApi", 200, { only: ["asyncapi", "info", "defaultContentType"] });
  await run.call("getOverview", 200);
  await run.call("getDocs", 200);
}

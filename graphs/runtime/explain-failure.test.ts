import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { findReachFault } from "./explain-failure.ts";

test("distinguishes a reachable host from a refused connection", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  assert.equal(await findReachFault(`rtsp://user:secret@127.0.0.1:${port}/x`), null);
  server.close();
  await once(server, "close");
  assert.match((await findReachFault(`rtsp://user:secret@127.0.0.1:${port}/x`)) ?? "", /^connection refused/);
});

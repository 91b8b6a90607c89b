import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { makeConfig } from "../api/app.fixture.ts";
import { locateStream } from "./locate-stream.ts";
import { SourceLocator } from "./sources.ts";

const network = makeConfig({ NETWORK_DENY: "127.0.0.2" }).network;

test("replaces the host name by its address, and changes nothing else", async () => {
  const { port, close } = await listen();
  const { locate } = locateStream(`rtsp://u:p%40@camera.invalid:${port}/x?y=1`, network, ["127.0.0.1"]);
  assert.equal(await locate(), `rtsp://u:p%40@127.0.0.1:${port}/x?y=1`);
  const numbered = `rtsp://127.0.0.1:${port}/x`;
  assert.equal(await locateStream(numbered, network, ["127.0.0.1"]).locate(), numbered);
  await close();
});

test("keeps the host name with TLS, for the certificate", async () => {
  for (const url of ["rtsps://camera.invalid/x", "rtmps://camera.invalid/live/x"])
    assert.equal(await locateStream(url, network, ["192.0.2.1"]).locate(), url);
});

test("rejects a host name that cannot be resolved", async () => {
  const { locate } = locateStream("rtsp://u:hunter2@camera.invalid/x", network, []);
  for (const _ of ["as it was known", "looked up again"])
    await assert.rejects(locate(), (error: Error & { code: string }) => {
      assert.equal(error.code, "source_not_live");
      assert.match(error.message, /no host of the name camera\.invalid/);
      assert.doesNotMatch(error.message, /hunter2/);
      return true;
    });
});

test("uses known addresses once, then resolves and checks the name again", async () => {
  // Every address that stands for this machine, 127.0.0.3 among them.
  const { port, close } = await listen("0.0.0.0");
  const { locate } = locateStream(`rtsp://localhost:${port}/x`, network, ["127.0.0.3"]);
  assert.equal(await locate(), `rtsp://127.0.0.3:${port}/x`);
  assert.equal(await locate(), `rtsp://127.0.0.1:${port}/x`);
  const closed = makeConfig({ NETWORK_ALLOW: "" }).network;
  const { locate: refused } = locateStream(`rtsp://localhost:${port}/x`, closed, ["127.0.0.3"]);
  await refused();
  await assert.rejects(refused(), { code: "address_refused" });
  await close();
});

test("chooses the address that accepts a connection", async () => {
  const { port, close } = await listen();
  const url = `rtsp://camera.invalid:${port}/x`;
  const known = ["127.0.0.3", "127.0.0.1"];
  assert.equal(await locateStream(url, network, known).locate(), `rtsp://127.0.0.1:${port}/x`);
  await close();
});

test("reports source_not_live if every address refuses the connection", async () => {
  const { port, close } = await listen();
  await close();
  for (const known of [["127.0.0.1"], ["127.0.0.3", "127.0.0.1"]])
    await assert.rejects(locateStream(`rtsp://u:hunter2@camera.invalid:${port}/x`, network, known).locate(), {
      code: "source_not_live",
      message: `cannot play rtsp://***@camera.invalid:${port}/x: connection refused on port ${port}`,
    });
});

async function listen(host = "127.0.0.1") {
  const server = createServer((socket) => socket.destroy()).listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.close();
    await once(server, "close");
  };
  return { port, close };
}

/** Every lookup waits for its answer: an address, or null when it fails. */
function openLocator() {
  const lookups = new PassThrough({ objectMode: true });
  let moves = 0;
  const locate = async (): Promise<string> => {
    const address = await new Promise<string | null>((resolve) => lookups.write(resolve));
    if (address === null) throw new Error("not found");
    return address;
  };
  const locator = new SourceLocator(locate, 1, () => {
    moves += 1;
  });
  const nextLookup = async (): Promise<(address: string | null) => void> => {
    for (;;) {
      const answer = lookups.read();
      if (answer !== null) return answer;
      await once(lookups, "readable");
    }
  };
  const find = async (address: string): Promise<string> => {
    const found = locator.find();
    (await nextLookup())(address);
    return found;
  };
  return { locator, nextLookup, find, moves: () => moves };
}

test("a lost source with another address has moved, once", async () => {
  const { locator, nextLookup, find, moves } = openLocator();
  assert.equal(await find("a"), "a");
  locator.setLost(true);
  locator.setLost(true);
  for (const address of ["a", null, "b"]) (await nextLookup())(address);
  await new Promise(setImmediate);
  assert.equal(moves(), 1);
  assert.equal(await find("b"), "b");
  locator.setLost(true);
  (await nextLookup())("b");
  await nextLookup();
  assert.equal(moves(), 1, "it has the address that was found last");
  locator.setLost(false);
});

test("a source that is back has not moved, whatever the pending lookup returns", async () => {
  const { locator, nextLookup, find, moves } = openLocator();
  await find("a");
  locator.setLost(true);
  const answer = await nextLookup();
  locator.setLost(false);
  answer("b");
  await new Promise(setImmediate);
  assert.equal(moves(), 0);
});

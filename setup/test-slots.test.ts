import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../test/graph.fixture.ts";
import { countSlots, openSlots } from "./test-slots.mjs";

test("fewer tests run where other guests use the processors, but never less than two at once", () => {
  assert.deepEqual(
    [0, 0.05, 0.4, 0.7, 1].map((stolen) => countSlots(5, stolen)),
    [5, 5, 3, 2, 2],
  );
  assert.equal(countSlots(1, 0.7), 1);
});

test("a process waits for a slot until another one has ended", async () => {
  const path = join(temporaryFolder(), "slots");
  const slots = await openSlots(path, 1);
  try {
    const granted: string[] = [];
    const ask = async (name: string): Promise<Socket> => {
      const socket = connect(path).once("data", () => granted.push(name));
      await once(socket, "connect");
      return socket;
    };
    const first = await ask("first");
    await once(first, "data");
    const [gone, last] = [await ask("gone"), await ask("last")];
    gone.destroy();
    await once(gone, "close");
    first.destroy();
    await once(last, "data");
    assert.deepEqual(granted, ["first", "last"]);
    last.destroy();
  } finally {
    slots.close();
  }
});

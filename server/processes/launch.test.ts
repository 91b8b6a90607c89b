import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { SourceLocator } from "./launch.ts";

/** Every lookup waits for its answer: an address, or null when it fails. */
function open() {
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
  const { locator, nextLookup, find, moves } = open();
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
  const { locator, nextLookup, find, moves } = open();
  await find("a");
  locator.setLost(true);
  const answer = await nextLookup();
  locator.setLost(false);
  answer("b");
  await new Promise(setImmediate);
  assert.equal(moves(), 0);
});

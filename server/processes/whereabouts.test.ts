import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { Whereabouts } from "./whereabouts.ts";

/** Every look waits for its answer: a place, or null for nowhere. */
function follow() {
  const looks = new PassThrough({ objectMode: true });
  let moves = 0;
  const locate = async (): Promise<string> => {
    const place = await new Promise<string | null>((resolve) => looks.write(resolve));
    if (place === null) throw new Error("nowhere");
    return place;
  };
  const whereabouts = new Whereabouts(locate, 1, () => {
    moves += 1;
  });
  const nextLook = async (): Promise<(place: string | null) => void> => {
    for (;;) {
      const answer = looks.read();
      if (answer !== null) return answer;
      await once(looks, "readable");
    }
  };
  const find = async (place: string): Promise<string> => {
    const found = whereabouts.find();
    (await nextLook())(place);
    return found;
  };
  return { whereabouts, nextLook, find, moves: () => moves };
}

test("a lost source that is elsewhere has moved, once", async () => {
  const { whereabouts, nextLook, find, moves } = follow();
  assert.equal(await find("a"), "a");
  whereabouts.setLost(true);
  whereabouts.setLost(true);
  for (const place of ["a", null, "b"]) (await nextLook())(place);
  await new Promise(setImmediate);
  assert.equal(moves(), 1);
  assert.equal(await find("b"), "b");
  whereabouts.setLost(true);
  (await nextLook())("b");
  await nextLook();
  assert.equal(moves(), 1, "it is where it was found last");
  whereabouts.setLost(false);
});

test("one that is back has not moved, whatever the look under way brings", async () => {
  const { whereabouts, nextLook, find, moves } = follow();
  await find("a");
  whereabouts.setLost(true);
  const answer = await nextLook();
  whereabouts.setLost(false);
  answer("b");
  await new Promise(setImmediate);
  assert.equal(moves(), 0);
});

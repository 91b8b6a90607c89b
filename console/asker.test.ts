import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { ApiError } from "../client/client.ts";
import { type Asked, Asker } from "./asker.ts";

/** Asks somebody who answers when told to, and keeps what came of it. */
function makeAsker(everyMs: number | null) {
  const questions = new EventTarget();
  const told: string[] = [];
  let count = 0;
  let settle: (answer: Promise<string>) => void = () => {};
  const ask = (): Promise<string> => {
    count += 1;
    questions.dispatchEvent(new Event("asked"));
    return new Promise((resolve) => {
      settle = resolve;
    });
  };
  const change = (next: Asked<string> | ((before: Asked<string>) => Asked<string>)): void => {
    told.push((typeof next === "function" ? next({ state: "loading" }) : next).state);
  };
  return {
    ...{ asker: new Asker({ ask, everyMs, isSeen: () => true, change }), told },
    get count() {
      return count;
    },
    answer: async (answer: Promise<string>): Promise<void> => {
      settle(answer);
      await new Promise(setImmediate);
    },
    asked: () => once(questions as never, "asked"),
  };
}

test("it asks again and again, and not any more once it has ended, whoever wants it to", async () => {
  const one = makeAsker(1);
  one.asker.run();
  const again = one.asked();
  await one.answer(Promise.resolve("a"));
  await again;
  one.asker.end();
  one.asker.run();
  await one.answer(Promise.resolve("b"));
  assert.equal(one.count, 2);
  assert.deepEqual(one.told, ["known"]);
});

test("one that is answered wakes those that wait for the service to come back", async () => {
  const away = () => Promise.reject(new ApiError(0, { code: "no_answer" }));
  const [first, second] = [makeAsker(60_000), makeAsker(60_000)];
  for (const { asker, answer } of [first, second]) {
    asker.run();
    await answer(away());
  }
  const woken = second.asked();
  first.asker.run();
  await first.answer(Promise.resolve("a"));
  await woken;
  for (const { asker } of [first, second]) asker.end();
  assert.deepEqual([first.told, second.told], [["failed", "known"], ["failed"]]);
});

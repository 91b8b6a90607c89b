import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { ApiError } from "../client/client.ts";
import { Poller } from "./poller.ts";

/** A poller whose requests are answered by hand, and what it reported. */
function makePoller(intervalMs: number | null) {
  const requests = new EventTarget();
  const reported: string[] = [];
  let count = 0;
  let settle: (response: Promise<string>) => void = () => {};
  const poller = new Poller<string>({
    intervalMs,
    fetch: () => {
      count += 1;
      requests.dispatchEvent(new Event("request"));
      return new Promise((resolve) => {
        settle = resolve;
      });
    },
    isVisible: () => true,
    onValue: (value) => reported.push(value),
    onError: ({ code }) => reported.push(code),
  });
  return {
    ...{ poller, reported },
    get count() {
      return count;
    },
    respond: async (response: Promise<string>): Promise<void> => {
      settle(response);
      await new Promise(setImmediate);
    },
    nextRequest: () => once(requests as never, "request"),
  };
}

test("polls until it is closed, and not when it is run after that", async () => {
  const polled = makePoller(1);
  polled.poller.run();
  const second = polled.nextRequest();
  await polled.respond(Promise.resolve("a"));
  await second;
  polled.poller.close();
  polled.poller.run();
  await polled.respond(Promise.resolve("b"));
  assert.equal(polled.count, 2);
  assert.deepEqual(polled.reported, ["a"]);
});

test("a poller that succeeds wakes those that wait for an unavailable service", async () => {
  const unavailable = () => Promise.reject(new ApiError(0, { code: "no_answer" }));
  const [first, second] = [makePoller(60_000), makePoller(60_000)];
  for (const { poller, respond } of [first, second]) {
    poller.run();
    await respond(unavailable());
  }
  const woken = second.nextRequest();
  first.poller.run();
  await first.respond(Promise.resolve("a"));
  await woken;
  for (const { poller } of [first, second]) poller.close();
  assert.deepEqual([first.reported, second.reported], [["no_answer", "a"], ["no_answer"]]);
});

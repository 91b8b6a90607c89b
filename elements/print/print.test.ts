import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame, Services } from "../element.ts";
import print from "./print.ts";

const frameAt = (index: number): Frame =>
  ({ index, ptsNs: 0n, captureNs: 0n, format: { width: 2, height: 2 }, meta: { speed: 1 } }) as unknown as Frame;

test("one frame in so many is printed, and how many may change while it runs", async () => {
  assert.equal(print.kind, "sink");
  const lines: string[] = [];
  const services = { print: async (line: string) => void lines.push(line) } as Partial<Services> as Services;
  const handler = await print.create({ every: 3 }, services);
  for (let index = 0; index < 6; index++) await handler.process(frameAt(index));
  await handler.update?.({ every: 1, keys: [] });
  await handler.process(frameAt(7));
  assert.deepEqual(
    lines.map((line) => [JSON.parse(line).frame, JSON.parse(line).speed]),
    [
      [0, 1],
      [3, 1],
      [7, undefined],
    ],
  );
});

test("a frame waits until its line may be followed by another", async () => {
  assert.equal(print.kind, "sink");
  const lines: string[] = [];
  let release = (): void => {};
  const services = {
    print(line: string) {
      lines.push(line);
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    },
  } as Partial<Services> as Services;
  const handler = await print.create({ every: 1 }, services);
  let settled = false;
  const processed = Promise.resolve(handler.process(frameAt(0))).then(() => {
    settled = true;
  });
  await new Promise(setImmediate);
  assert.equal(lines.length, 1);
  assert.equal(settled, false);
  release();
  await processed;
});

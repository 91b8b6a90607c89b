import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame, Services } from "../element.ts";
import print from "./print.ts";

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
  const frame = {
    index: 0,
    ptsNs: 0n,
    captureNs: 0n,
    format: { width: 2, height: 2 },
    meta: {},
  } as Partial<Frame> as Frame;
  const handler = await print.create({}, services);
  let settled = false;
  const processed = Promise.resolve(handler.process(frame)).then(() => {
    settled = true;
  });
  await new Promise(setImmediate);
  assert.equal(lines.length, 1);
  assert.equal(settled, false);
  release();
  await processed;
});

/** Requests made up from the API's own document: none of them breaks it, and every answer is what the document says. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { requestsOf } from "../api/fuzz/requests.ts";
import { MASTER_KEY, TestService } from "../api/service.fixture.ts";
import { progress, rounds } from "./rounds.fixture.ts";

const service = await TestService.start();
after(() => service.close());

const TOTAL = rounds(400, 5_000);
const SEED = Number(process.env.WINDHOVER_SEED ?? Date.now() % 1e9);

/** What exists, so that requests get beyond "there is no such thing". */
async function makeThings(): Promise<readonly string[]> {
  const stream = await service.send("POST", "/stream", {
    json: { alias: "camera", input_url: "rtsp://127.0.0.1:9/none", stream_type: "rtsp" },
  });
  const output = await service.send("POST", "/output", {
    json: { alias: "out", type: "rtsp", url: "rtsp://yard/east" },
  });
  const made = [stream, output].map(({ text }) => (JSON.parse(text) as { uuid?: string }).uuid);
  return [...made.filter((uuid) => uuid !== undefined), "01890000-0000-7000-8000-000000000000"];
}

test(`${TOTAL} requests made up from the document break nothing (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
  const { answers } = service;
  assert.ok(answers.operations.length >= 20, "the document lists the operations");
  const world = { answers, key: MASTER_KEY, uuids: await makeThings() };
  const requests = fc.oneof(...answers.operations.map((operation) => requestsOf(operation, world)));
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(requests, async ({ operation, method, path, headers, body }) => {
      const answer = await service.send(method, path, { headers, key: null, ...(body !== null && { body }) });
      const reached = answers.find(method, path.split("?")[0] ?? path);
      assert.deepEqual(
        answers.judge(reached ?? operation, answer),
        [],
        `${method} ${path} ${JSON.stringify(headers)} ${body?.slice(0, 500)}\n→ ${answer.status} ${answer.text.slice(0, 500)}`,
      );
      progress("fuzz", ++sent, TOTAL);
    }),
    { numRuns: TOTAL, seed: SEED, endOnFailure: false, interruptAfterTimeLimit: 3_000_000 },
  );
  assert.equal((await service.send("GET", "/status", { key: null })).status, 200);
});

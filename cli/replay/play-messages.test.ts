import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CommandFailure } from "../command.ts";
import { makeFolder } from "../windhover.fixture.ts";
import { readMessages } from "./play-messages.ts";
import { toLines, walk } from "./replay.fixture.ts";

const folder = makeFolder();
const file = join(folder, "seen.ndjson");

async function read(text: string): Promise<{ readonly count: number; readonly cut: readonly string[] }> {
  writeFileSync(file, text);
  const cut: string[] = [];
  let count = 0;
  for await (const { part } of readMessages(file, (text) => cut.push(text))) {
    assert.ok(part > 0 && part <= 1);
    count += 1;
  }
  return { count, cut };
}

const messages = walk();
const whole = toLines(messages);

test("every message comes, a mark before the first line and empty lines between them or not", async () => {
  assert.deepEqual(await read(`\uFEFF${whole.replaceAll("\n", "\r\n\n")}`), { count: messages.length, cut: [] });
});

test("skips and reports an incomplete last line", async () => {
  const { count, cut } = await read(whole.slice(0, -40));
  assert.equal(count, messages.length - 1);
  assert.match(cut[0] ?? "", /seen\.ndjson:100: the last line is incomplete/);
});

test("a golden is read by its messages of detections", async () => {
  const golden = [
    { golden: 2, graph: "detect" },
    ...messages.slice(0, 3).map(({ source_uri: _, process_uuid: __, ...message }) => ({
      ...{ channel: "detection_data", node: "detections", message },
    })),
    { channel: "other", node: "more", message: { a: 1 } },
  ];
  assert.equal((await read(toLines(golden))).count, 3);
});

const [first, second] = [JSON.stringify(messages[0]), JSON.stringify(messages[1])];
for (const [name, text, wanted] of [
  ["nothing", "\n\n", /has no messages; expected detection messages, one per line, as `windhover run detect/],
  ["text", "hello\n", /:1: this is not valid JSON/],
  ["a line that is broken amid others", `${first}\n{"time\n${second}\n`, /:2: this is not valid JSON/],
  ["something else in JSON", '{"a": 1}\n', /:1: this is not a detection message: timestamp is missing/],
  [
    "a confidence of 300",
    `${first?.replace('"confidence":80', '"confidence":300')}\n`,
    /active_tracks\[0\]\.confidence is 300/,
  ],
  [
    "times that go back",
    `${second}\n${first}\n`,
    /:2: its timestamp 2026-11-14T09:00:00\.000Z is earlier than that of/,
  ],
  ["a day that never was", `${first?.replace("11-14", "11-44")}\n`, /which is not a valid time/],
] as const)
  test(`${name} is rejected with its line`, async () => {
    await assert.rejects(read(text), (error) => error instanceof CommandFailure && wanted.test(error.message));
  });

test("a file that is not there is named, with one that may be meant", async () => {
  writeFileSync(file, whole);
  const missing = readMessages(join(folder, "sene.ndjson"), () => {});
  await assert.rejects(missing.next(), /there is no file .*sene\.ndjson/);
  const near = readMessages(join(folder, "see.ndjson"), () => {});
  await assert.rejects(near.next(), /did you mean "seen\.ndjson"/);
});

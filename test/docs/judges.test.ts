/** What judges the documentation finds fault where there is some. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readBlocks } from "./blocks.ts";
import { judgeLine, splitLines, splitWords } from "./command-lines.ts";
import { anchorOf, judgeLinks } from "./links.ts";
import type { Page } from "./pages.ts";
import { compareShapes } from "./tour.ts";

const pageOf = (path: string, text: string): Page => ({ path, text, isGenerated: false, blocks: readBlocks(text) });

test("blocks are read with their language, their place and the comment above", () => {
  const [first, second] = readBlocks("a\n\n<!-- answer -->\n\n```json\n{}\n```\n\n  ```sh\n  npm test\n  ```\n");
  assert.deepEqual(first, { language: "json", text: "{}\n", line: 5, remark: "answer" });
  assert.deepEqual(second, { language: "sh", text: "npm test\n", line: 9, remark: null });
  assert.throws(() => readBlocks("```sh\nnpm test\n"), /line 1: the block is not closed/);
});

test("lines that go on are one, comments are none, quotes keep words together", () => {
  assert.deepEqual(splitLines("curl -s \\\n  -d x # why\n\n# all\n"), ["curl -s -d x"]);
  assert.deepEqual(splitWords("npx windhover launch 'a ! b' --frames 5 > out.ndjson"), [
    ...["npx", "windhover", "launch", "a ! b", "--frames", "5"],
  ]);
});

describe("a command line is refused", () => {
  const scripts = { test: "", bench: "" };
  const cases: readonly (readonly [string, RegExp])[] = [
    ["npx windhover luanch 'print'", /there is no command luanch/],
    ["npx windhover keys craete acme", /there is no command keys craete/],
    ["npx windhover run detect clip.mp4 --vidoe out.mp4", /no option --vidoe/],
    ["npx windhover run detect clip.mp4 other.mp4", /unexpected argument "other.mp4"/],
    ["npm run tset", /no script tset/],
    ["npm start -- --dmeo", /serve has no option --dmeo/],
    ["npm run bench -- engnie", /there is no tools\/bench\/engnie\.ts/],
    ["node setup/tset.mjs", /there is no setup\/tset\.mjs/],
    ["node setup/test.mjs elements/trakc", /there is no elements\/trakc/],
    ["ffplay rtsp://camera", /nothing is known of ffplay/],
  ];
  for (const [line, fault] of cases)
    test(line, async () => {
      assert.match((await judgeLine(line, scripts)) ?? "it was taken", fault);
    });
});

test("links to no file and to no heading are told", () => {
  const page = pageOf(
    "docs/graphs.md",
    "# One & two\n[a](missing.md) [b](#one--two) [c](graphs.md#three) [d](https://x.example)",
  );
  assert.deepEqual(judgeLinks(page, [page]), [
    "docs/graphs.md: missing.md leads to no file",
    "docs/graphs.md: graphs.md#three leads to no heading",
  ]);
  assert.equal(anchorOf("Five minutes, `npm start`"), "five-minutes-npm-start");
});

test("an answer of another shape is told, and what may be null or empty is not", () => {
  const shown = { uuid: "a", stats: { fps: 1 }, outputs: [], error: null, tracks: [{ id: 1 }] };
  assert.deepEqual(compareShapes(shown, { ...shown, stats: null, tracks: [], more: 1 }, ""), []);
  assert.deepEqual(compareShapes(shown, { ...shown, uuid: 1, stats: {}, tracks: [{ id: "1" }] }, ""), [
    ".uuid is shown as string and is number",
    ".stats.fps is not there",
    ".tracks[0].id is shown as number and is string",
  ]);
});

/** The checks of the documentation report faults. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkLine, splitLines, splitWords } from "./command-lines.ts";
import { anchorOf, checkLinks, type Page, readBlocks } from "./pages.ts";
import { compareShapes } from "./tour.ts";

const pageOf = (path: string, text: string): Page => ({ path, text, isGenerated: false, blocks: readBlocks(text) });

test("reads code blocks with their language, line and comment", () => {
  const [first, second] = readBlocks("a\n\n<!-- answer -->\n\n```json\n{}\n```\n\n  ```sh\n  npm test\n  ```\n");
  assert.deepEqual(first, { language: "json", text: "{}\n", line: 5, remark: "answer" });
  assert.deepEqual(second, { language: "sh", text: "npm test\n", line: 9, remark: null });
  assert.throws(() => readBlocks("```sh\nnpm test\n"), /line 1: the code block is not closed/);
});

test("joins continued lines, removes comments, keeps quoted words together", () => {
  assert.deepEqual(splitLines("curl -s \\\n  -d x # why\n\n# all\n"), ["curl -s -d x"]);
  assert.deepEqual(splitWords("npx windhover launch 'a ! b' --frames 5 > out.ndjson"), [
    ...["npx", "windhover", "launch", "a ! b", "--frames", "5"],
  ]);
});

describe("rejects the command line", () => {
  const scripts = { test: "", bench: "" };
  const cases: readonly (readonly [string, RegExp])[] = [
    ["npx windhover luanch 'print'", /no such command: luanch/],
    ["npx windhover keys craete acme", /no such command: keys craete/],
    ["npx windhover run detect clip.mp4 --vidoe out.mp4", /no option --vidoe/],
    ["npx windhover run detect clip.mp4 other.mp4", /unexpected argument "other.mp4"/],
    ["npm run tset", /no script tset/],
    ["npm start -- --dmeo", /serve has no option --dmeo/],
    ["npm run bench -- engnie", /no such file: tools\/bench\/engnie\.ts/],
    ["node setup/tset.mjs", /no such file: setup\/tset\.mjs/],
    ["node setup/test.mjs elements/trakc", /no such file: elements\/trakc/],
    ["ffplay rtsp://camera", /ffplay cannot be checked/],
  ];
  for (const [line, fault] of cases)
    test(line, async () => {
      assert.match((await checkLine(line, scripts)) ?? "the line was accepted", fault);
    });
});

test("reports links to missing files and headings", () => {
  const page = pageOf(
    "docs/graphs.md",
    "# One & two\n[a](missing.md) [b](#one--two) [c](graphs.md#three) [d](https://x.example)",
  );
  assert.deepEqual(checkLinks(page, [page]), [
    "docs/graphs.md: missing.md is not a file",
    "docs/graphs.md: graphs.md#three is not a heading",
  ]);
  assert.equal(anchorOf("Five minutes, `npm start`"), "five-minutes-npm-start");
});

test("reports a response of another shape, but not null or empty lists", () => {
  const shown = { uuid: "a", stats: { fps: 1 }, outputs: [], error: null, tracks: [{ id: 1 }] };
  assert.deepEqual(compareShapes(shown, { ...shown, stats: null, tracks: [], more: 1 }, ""), []);
  assert.deepEqual(compareShapes(shown, { ...shown, uuid: 1, stats: {}, tracks: [{ id: "1" }] }, ""), [
    ".uuid is shown as string and is number",
    ".stats.fps is missing",
    ".tracks[0].id is shown as number and is string",
  ]);
});

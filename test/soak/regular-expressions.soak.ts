/** Every regular expression takes linear time for any text. Writes the list of which `npm test` checks a sample. */
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { checkAll, LIST, texts, version } from "../regular-expressions.fixture.ts";

test("every regular expression takes linear time", async () => {
  await checkAll(texts);
  writeFileSync(LIST, `${JSON.stringify({ recheck: version, linear: texts }, null, 2)}\n`);
});

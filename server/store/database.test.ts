import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "./database.fixture.ts";

test("a", async () => {
  const t0 = performance.now();
  const { sql, url, close } = await testDatabase();
  console.log(performance.now() - t0, url);
  console.log(await sql`select 5::bigint as some_number, now() as at, count(*) from users`);
  await close();
  console.log(performance.now() - t0);
});

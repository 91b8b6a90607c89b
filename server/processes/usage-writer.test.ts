import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sql } from "../store/client.ts";
import { UsageWriter } from "./usage-writer.ts";

/** Takes everything, or nothing while it is away. */
function makeWriter() {
  const state = { isAway: false };
  const query = async () => {
    if (state.isAway) throw new Error("away");
  };
  const sql = Object.assign(query, { json: (value: unknown) => value }) as unknown as Sql;
  return { writer: new UsageWriter(sql), state };
}

const entry = (runningMs: number) => ({ processUuid: "p", fence: 1, runningMs });

test("of a claim that has ended nothing is kept once its last number is written", async () => {
  const { writer, state } = makeWriter();
  writer.note(entry(10));
  await writer.flush();
  assert.equal(writer.size, 1);
  writer.close(entry(20));
  state.isAway = true;
  await assert.rejects(writer.flush(), /away/);
  assert.equal(writer.size, 1, "what is not written is kept");
  state.isAway = false;
  await writer.flush();
  assert.equal(writer.size, 0);
});

test("a claim whose last number was written before it ended is forgotten with its end", async () => {
  const { writer } = makeWriter();
  writer.note(entry(10));
  await writer.flush();
  writer.close(entry(10));
  assert.equal(writer.size, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRefusal, isRefusal } from "./refusal.ts";

const status = (level: string, code: string, description = "") => ({
  ...{ name: "onStatus", transaction: 0, object: null, args: [{ level, code, description }] },
});

test("errors of a stream and its end are refusals, its start is none", () => {
  assert.ok(isRefusal(status("error", "NetStream.Publish.BadName")));
  assert.ok(isRefusal(status("status", "NetStream.Unpublish.Success")));
  assert.ok(!isRefusal(status("status", "NetStream.Publish.Start")));
  assert.ok(!isRefusal({ ...status("error", "NetConnection.Call.Failed"), name: "_error" }));
});

test("a refusal is told in the server's words, without the key and without line breaks", () => {
  const told = status("error", "x", "no\n room for street?api_key=wh_1_2");
  assert.equal(describeRefusal(told, "street?api_key=wh_1_2"), "the server refused: no  room for ***");
  assert.equal(describeRefusal(status("error", "NetStream.Failed"), "street"), "the server refused: NetStream.Failed");
  assert.equal(describeRefusal({ ...told, args: [] }, "street"), "the server refused: without a reason");
});

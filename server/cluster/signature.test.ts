import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterKey, SIGNATURE_SECONDS } from "./signature.ts";

const SECRET = Buffer.alloc(32, 7);
const PARTS = ["POST", "/process/1/pause", "hop"];

test("a signature is valid for its purpose, its parts in their order, and its key", () => {
  const key = new ClusterKey(SECRET);
  const signature = key.sign("request", PARTS);
  assert.ok(key.isGood("request", PARTS, signature));
  assert.ok(new ClusterKey(SECRET).isGood("request", PARTS, signature), "every node has the same key");
  assert.ok(!key.isGood("relay", PARTS, signature));
  assert.ok(!key.isGood("request", [...PARTS].reverse(), signature));
  assert.ok(!key.isGood("request", PARTS.slice(1), signature));
  // The same characters, divided elsewhere.
  assert.ok(!key.isGood("request", ["POST/process/1/pause", "", "hop"], signature));
  assert.ok(!new ClusterKey(Buffer.alloc(32, 8)).isGood("request", PARTS, signature));
});

test("a signature expires, and its end cannot be moved", () => {
  let nowMs = 1_800_000_000_000;
  const key = new ClusterKey(SECRET, () => nowMs);
  const signature = key.sign("relay", PARTS);
  nowMs += (SIGNATURE_SECONDS - 1) * 1000;
  assert.ok(key.isGood("relay", PARTS, signature));
  nowMs += 2000;
  assert.ok(!key.isGood("relay", PARTS, signature));
  const [end = "", mac] = signature.split(".");
  assert.ok(!key.isGood("relay", PARTS, `${(Number.parseInt(end, 36) + 3600).toString(36)}.${mac}`));
  assert.ok(key.isGood("relay", PARTS, key.sign("relay", PARTS, 5)));
});

test("rejects what is not a signature", () => {
  const key = new ClusterKey(SECRET);
  const [end, mac = ""] = key.sign("request", PARTS).split(".");
  for (const text of ["", ".", `${end}.`, `.${mac}`, `${end}.${mac}x`, `${end}.${mac.slice(1)}`, `-1.${mac}`, mac])
    assert.ok(!key.isGood("request", PARTS, text), text);
});

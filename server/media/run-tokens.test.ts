import assert from "node:assert/strict";
import { test } from "node:test";
import { RunTokens } from "./run-tokens.ts";

test("a token allows one action on one path, until it is taken back", () => {
  const tokens = new RunTokens();
  const { token, revoke } = tokens.issue("publish", "ada/yard");
  assert.ok(tokens.isToken(token));
  assert.ok(tokens.allows(token, "publish", "ada/yard"));
  assert.ok(!tokens.allows(token, "play", "ada/yard"));
  assert.ok(!tokens.allows(token, "publish", "ada/yard2"));
  revoke();
  assert.ok(!tokens.allows(token, "publish", "ada/yard"));
  assert.equal(tokens.size, 0);
});

test("no two tokens are alike", () => {
  const tokens = new RunTokens();
  const issued = Array.from({ length: 100 }, () => tokens.issue("play", "ada/yard").token);
  assert.equal(new Set(issued).size, issued.length);
});

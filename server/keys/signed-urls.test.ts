import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createSigner, goingOn } from "./signed-urls.ts";

const SECRET = Buffer.alloc(32, 7);
const AT_MS = 1_800_000_000_000;
const TIMES = { urlSeconds: 60, watchSeconds: 600 };

test("a signed URL is valid for its own resource until it expires", () => {
  let nowMs = AT_MS;
  const signer = createSigner(SECRET, TIMES, () => nowMs);
  const token = signer.sign("source/a");
  assert.ok(signer.isGood("source/a", token));
  assert.ok(!signer.isGood("source/b", token));
  assert.ok(!signer.isGood("output/a", token));
  nowMs += 59_999;
  assert.ok(signer.isGood("source/a", token));
  nowMs += 1;
  assert.ok(!signer.isGood("source/a", token));
});

test("a client that has started to watch can continue after its URL has expired, but cannot start again", () => {
  let nowMs = AT_MS;
  const signer = createSigner(SECRET, TIMES, () => nowMs);
  const token = signer.signGoingOn("source/a");
  nowMs += 599_000;
  assert.ok(signer.isGood(goingOn("source/a"), token));
  assert.ok(!signer.isGood("source/a", token));
  assert.ok(!signer.isGood(goingOn("source/b"), token));
  nowMs += 60_000;
  assert.ok(!signer.isGood(goingOn("source/a"), token));
});

test("URLs signed shortly after each other are identical, and valid for long enough", () => {
  let nowMs = AT_MS + 1;
  const signer = createSigner(SECRET, { urlSeconds: 3600, watchSeconds: 7200 }, () => nowMs);
  const token = signer.sign("source/a");
  nowMs += 200_000;
  assert.equal(signer.sign("source/a"), token);
  nowMs += 200_000;
  const later = signer.sign("source/a");
  assert.notEqual(later, token);
  nowMs += 3_599_000;
  assert.ok(signer.isGood("source/a", later));
});

test("URLs are identical within a period, and another period gives others", () => {
  let nowMs = AT_MS;
  const signer = createSigner(SECRET, TIMES, () => nowMs);
  const seen = new Map<number, string>();
  for (let i = 0; i < 500; i++) {
    nowMs += 137;
    const token = signer.sign("source/a");
    const known = seen.get(signer.period());
    assert.equal(token, known ?? token);
    seen.set(signer.period(), token);
  }
  assert.equal(new Set(seen.values()).size, seen.size);
  assert.ok(seen.size > 10);
});

test("rejects URLs of another installation", () => {
  const token = createSigner(Buffer.alloc(32, 8), TIMES).sign("source/a");
  assert.ok(!createSigner(SECRET, TIMES).isGood("source/a", token));
});

test("rejects a token with any change", () => {
  const signer = createSigner(SECRET, TIMES, () => AT_MS);
  const token = signer.sign("source/a");
  const letters = fc.constantFrom(..."0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.");
  fc.assert(
    fc.property(fc.nat(token.length - 2), letters, (at, letter) => {
      const changed = token.slice(0, at) + letter + token.slice(at + 1);
      assert.equal(signer.isGood("source/a", changed), changed === token);
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => !signer.isGood("source/a", text)));
});

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../../test/any-character.fixture.ts";
import { CLOSED, Keyring, readKeyId, readKeys } from "./keyring.ts";

const [old, fresh] = [randomBytes(32), randomBytes(32)];
const ring = new Keyring([fresh, old]);
const other = new Keyring([old]);

test("opens what was sealed, and seals equal texts equally", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const sealed = ring.seal(text);
      assert.equal(ring.open(sealed), text);
      assert.equal(ring.seal(text), sealed);
      assert.equal(readKeyId(sealed), ring.currentId);
      assert.notEqual(other.seal(text), sealed);
    }),
  );
});

test("sealed text contains nothing of the original", () => {
  const sealed = ring.seal("rtsp://admin:hunter2@192.0.2.1/main");
  assert.doesNotMatch(
    sealed + Buffer.from(sealed.split(".")[2] ?? "", "base64url").toString("latin1"),
    /hunter2|admin|rtsp/,
  );
});

test("an older key opens, but does not seal", () => {
  assert.equal(ring.open(other.seal("word")), "word");
  assert.equal(readKeyId(ring.seal("word")), new Keyring([fresh]).currentId);
});

test("distinguishes a missing key, an altered secret and one that is not sealed, and opens none of them", () => {
  const sealed = ring.seal("hunter2");
  assert.throws(() => other.open(sealed), /sealed with the key [0-9a-f]{12}, which is missing/);
  assert.throws(() => ring.open('"hunter2"'), /is not sealed/);
  assert.throws(() => CLOSED.open(sealed), /without their key/);
  const start = sealed.lastIndexOf(".") + 1;
  for (let at = start; at < sealed.length; at++) {
    const altered = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`;
    // The last letter holds bits that mean nothing.
    if (Buffer.from(altered.slice(start), "base64url").equals(Buffer.from(sealed.slice(start), "base64url"))) continue;
    assert.throws(() => ring.open(altered), /was altered/);
  }
  assert.throws(() => ring.open(sealed.slice(0, start + 8)), /altered|Invalid/);
});

test("reads keys separated by lines or commas, with comments, and nothing else", () => {
  const [a, b] = ["a1".repeat(32), "B2".repeat(32)];
  const hex = (text: string) => readKeys(text)?.map((key) => Buffer.from(key).toString("hex"));
  assert.deepEqual(hex(`# of May\n${a}\n\n${b} # of April\n`), [a, b.toLowerCase()]);
  assert.deepEqual(hex(`${a},${b}`), [a, b.toLowerCase()]);
  for (const text of ["", "# none", "word", a.slice(1), `${a}0`, `${a} word`]) assert.equal(readKeys(text), null, text);
});

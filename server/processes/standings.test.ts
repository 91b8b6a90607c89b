import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeStanding, nextLookMs } from "./standings.ts";

test("tells why a user may run nothing more", () => {
  const fine = { remainingMs: 1, isExpired: false, isRevoked: false };
  const cases = [
    [fine, undefined],
    [{ ...fine, remainingMs: null }, undefined],
    [{ ...fine, remainingMs: 0 }, "usage_limit_reached"],
    [{ ...fine, isExpired: true }, "api_key_expired"],
    [{ ...fine, isRevoked: true }, "api_key_invalid"],
  ] as const;
  for (const [standing, code] of cases) assert.equal(judgeStanding(standing)?.code, code);
});

test("looks again when the first minutes can be used up, by as many processes as use them", () => {
  const look = (...users: Parameters<typeof nextLookMs>[0]) => nextLookMs(users, 200, 5000);
  assert.equal(look(), 5000);
  assert.equal(look({ remainingMs: null, running: 4 }), 5000);
  assert.equal(look({ remainingMs: 60_000, running: 4 }), 5000);
  assert.equal(look({ remainingMs: 4000, running: 4 }, { remainingMs: 3000, running: 1 }), 1000);
  assert.equal(look({ remainingMs: 4000, running: 0 }), 5000);
  assert.equal(look({ remainingMs: 1, running: 1 }), 200);
});

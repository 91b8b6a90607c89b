import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { canAgree, describeCaps, parseCaps } from "./caps.ts";

describe("caps", () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["ANY", "video/x-raw", true],
    ["video/x-raw", "video/x-raw", true],
    ["video/x-raw", "audio/x-raw", false],
    ["video/x-raw,format=I420", "video/x-raw, format=(string){ NV12, I420 }", true],
    ["video/x-raw,format=RGB", "video/x-raw, format=(string){ NV12, I420 }", false],
    ["video/x-raw,width=640", "video/x-raw, width=(int)[ 1, 2147483647 ]", true],
    ["video/x-raw,width=640", "video/x-raw, width=(int)[ 1, 320 ]", false],
    ["video/x-raw,width=[1,10]", "video/x-raw,width=[11,20]", false],
    ["video/x-raw,framerate=30/1", "video/x-raw, framerate=(fraction)[ 0/1, 2147483647/1 ]", true],
    ["video/x-raw,framerate=30/1", "video/x-raw, framerate=(fraction)60/2", true],
    ["video/x-raw,width=640", "video/x-raw,format=I420", true],
    ["video/x-h264; video/x-h265", "video/x-h265", true],
    ["video/x-raw(memory:DMABuf)", "video/x-raw", false],
    ["video/x-raw(memory:DMABuf)", "video/x-raw(ANY)", true],
    ["video/x-raw(memory:SystemMemory)", "video/x-raw", true],
    ["application/x-rtp,media=video", "application/x-rtp, media=(string)audio", false],
    ['video/x-raw,format=(string)"I420"', "video/x-raw,format=I420", true],
    ["video/x-raw,caps=< a, b >", "video/x-raw,caps=x", true],
    ["EMPTY", "ANY", false],
  ];
  for (const [a, b, agree] of cases) {
    test(`${a} and ${b} ${agree ? "agree" : "never agree"}`, () => {
      const [left, right] = [parseCaps(a), parseCaps(b)];
      assert.ok(left !== null && right !== null);
      assert.deepEqual([canAgree(left, right), canAgree(right, left)], [agree, agree]);
    });
  }

  for (const text of [
    "",
    "video",
    "video/",
    "/x-raw",
    "video/x-raw,",
    "video/x-raw,width",
    "video/x-raw,=5",
    "video/x-raw width=5",
  ]) {
    test(`${JSON.stringify(text)} is not caps`, () => assert.equal(parseCaps(text), null));
  }

  test("any text is read or refused", () => {
    const piece = fc.constantFrom(
      "video/x-raw",
      ",",
      ";",
      "(",
      ")",
      "{",
      "}",
      "[",
      "]",
      "<",
      ">",
      '"',
      "\\",
      "=",
      "1",
      "30/1",
      "format",
      " ",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const caps = parseCaps(pieces.join(""));
        if (caps !== null) assert.equal(typeof describeCaps(caps), "string");
      }),
    );
  });
});

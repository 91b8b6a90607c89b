import assert from "node:assert/strict";
import { test } from "node:test";
import type { Registry } from "../../schemas/registry.ts";
import { loadRegistry } from "./registry.ts";
import { findUsable, testDecoder } from "./verify-decoders.ts";

const registry = loadRegistry();

/** Says that these factories decode H.264, as a driver that does not work does. */
const claiming = (...names: readonly string[]): Registry => ({
  list: () => registry.list(),
  get: (name) => registry.get(names.includes(name) ? "avdec_h264" : name),
});

test("a decoder that decodes like the software decoder is used", async () => {
  assert.equal(await testDecoder("avdec_h264", registry), null);
  assert.equal(await testDecoder("avdec_h265", registry), null);
  assert.equal(await testDecoder("avdec_vp8", registry), null);
});

test("a decoder with other frames, with fewer frames, and one that cannot start are not used, with the reason", async () => {
  const broken = claiming("avdec_h265", "identity", "nosuchdec");
  assert.match((await testDecoder("identity", broken)) ?? "", /./);
  assert.match((await testDecoder("avdec_h265", broken)) ?? "", /./);
  assert.match((await testDecoder("nosuchdec", broken)) ?? "", /nosuchdec/);
  assert.match((await testDecoder("jpegdec", registry)) ?? "", /no test clip for its formats; there is one for video/);
});

test("usable decoders keep their order, and each of the others is reported once", async () => {
  const reported: string[] = [];
  const find = () =>
    findUsable(["nosuchdec", "avdec_vp8", "avdec_h264"], claiming("nosuchdec"), (name, reason) => {
      reported.push(name);
      assert.match(reason, /nosuchdec/);
    });
  assert.deepEqual(await find(), ["avdec_vp8", "avdec_h264"]);
  assert.deepEqual(await find(), ["avdec_vp8", "avdec_h264"]);
  assert.deepEqual(reported, ["nosuchdec"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { makeConfig } from "../api/app.fixture.ts";
import { StillMedia } from "../media/media.fixture.ts";
import type { ServiceError } from "../service-error.ts";
import type { AttachedOutput } from "../store/outputs.ts";
import { NoRoute, routeOutputs } from "./route-output.ts";

const media = new StillMedia();
const route = routeOutputs({ media, network: makeConfig({ NETWORK_DENY: "10.9.0.0/16" }).network });
const output = (
  type: AttachedOutput["type"],
  url: string | null,
  codec: AttachedOutput["codec"] = "h264",
): AttachedOutput => ({
  ...{ outputUuid: "a", type, url, settings: "720p", codec, username: "ada" },
});

test("routes an rtsp output to the hub below its owner's name, with a token that is valid until release", async () => {
  const found = (await route(output("rtsp", "rtsp://north/cam-1"), null)) ?? assert.fail();
  const url = new URL(String(found.params.url));
  assert.deepEqual([url.hostname, url.pathname, found.params.resolution], ["127.0.0.1", "/ada/north/cam-1", "720p"]);
  const allows = () => media.tokens.allows(url.password, "publish", "ada/north/cam-1");
  assert.deepEqual([allows(), media.tokens.allows(url.password, "play", "ada/north/cam-1")], [true, false]);
  assert.equal(await route(output("rtsp", "rtsp://north/cam-1"), found), found);
  found.release();
  assert.equal(allows(), false);
});

test("names the codec of the video where it is not H.264, which slots of users' graphs need not know", async () => {
  for (const [type, url] of [
    ["rtsp", "rtsp://north/cam-1"],
    ["rtmp", "rtmp://127.0.0.1/live/a"],
  ] as const) {
    const [plain, other] = [await route(output(type, url), null), await route(output(type, url, "h265"), null)];
    assert.deepEqual([plain?.params.codec, other?.params.codec], [undefined, "h265"]);
    for (const found of [plain, other]) found?.release();
  }
});

test("names boxes, bit rate and sound where they differ from the defaults", async () => {
  const params = async (more: Partial<AttachedOutput>, type: AttachedOutput["type"] = "rtsp") => {
    const found = await route(
      { ...output(type, type === "rtsp" ? "rtsp://a" : "udp://127.0.0.1:5004"), ...more },
      null,
    );
    found?.release();
    const { url: _, address: __, ...rest } = found?.params ?? {};
    return rest;
  };
  assert.deepEqual(await params({ boxes: true, bitrate: null, audio: false }), { resolution: "720p" });
  const chosen = { boxes: false, bitrate: 300, audio: true };
  assert.deepEqual(await params(chosen), { resolution: "720p", ...chosen });
  assert.deepEqual(await params({ boxes: false }, "mpegts"), { resolution: "720p" });
  assert.deepEqual(await params({ boxes: true }, "mpegts"), { resolution: "720p", boxes: true });
});

test("an rtmp output keeps its host name and connects to the address", async () => {
  const url = "rtmp://u:p@localhost:1935/live/key?a=b";
  const found = (await route(output("rtmp", url), null)) ?? assert.fail();
  assert.equal(found.params.url, url);
  assert.match(String(found.params.address), /^(127\.0\.0\.1|::1)$/);
});

test("tries another address when one fails, and keeps the only one", async () => {
  const only = (await route(output("rtmp", "rtmp://127.0.0.1/live/a"), null)) ?? assert.fail();
  assert.equal(await route(output("rtmp", "rtmp://127.0.0.1/live/a"), only), only);
  const moved = { params: { ...only.params, address: "192.0.2.1" }, release() {} };
  assert.equal((await route(output("rtmp", "rtmp://127.0.0.1/live/a"), moved))?.params.address, "127.0.0.1");
});

test("rejects addresses that are not permitted, and names that cannot be resolved", async () => {
  for (const url of ["rtmp://169.254.169.254/live/a", "rtmp://10.9.1.1/live/a", "rtmps://metadata/live/a"])
    await assert.rejects(route(output("rtmp", url), null), (error: ServiceError) => error.code === "address_refused");
  await assert.rejects(route(output("rtmp", "rtmp://nowhere.invalid/live/a"), null), NoRoute);
});

test("routes a cot output to its address, also a multicast group for datagrams", async () => {
  const broker = (await route(output("cot", "mqtt://u:p@localhost:1883/maps"), null)) ?? assert.fail();
  const { address, ...rest } = broker.params;
  assert.match(String(address), /^(127\.0\.0\.1|::1)$/);
  assert.deepEqual(rest, { url: "mqtt://u:p@localhost:1883/maps" });
  const group = await route(output("cot", "udp://239.2.3.1:6969"), null);
  assert.deepEqual(group?.params, { url: "udp://239.2.3.1:6969", address: "239.2.3.1" });
  for (const url of [
    "udp://169.254.169.254:80",
    "udp://metadata:80",
    "udp://10.9.1.1:80",
    "udp://224.0.0.251:5353",
    "udp://255.255.255.255:6969",
    "udp://[ff02::1]:6969",
    "udp://[::ffff:169.254.169.254]:80",
    "mqtt://239.2.3.1/cot",
    "mqtt://169.254.169.254/cot",
  ])
    await assert.rejects(route(output("cot", url), null), (error: ServiceError) => error.code === "address_refused");
});

test("routes an mqtt output to its address, with the source of the process", async () => {
  const url = "mqtts://u:p@localhost:8883/a/{source_uuid}";
  const { params } = (await route(output("mqtt", url), null, "source-1")) ?? assert.fail();
  const { address, ...rest } = params;
  assert.match(String(address), /^(127\.0\.0\.1|::1)$/);
  assert.deepEqual(rest, { url, source_uuid: "source-1" });
  for (const host of ["169.254.169.254", "10.9.1.1", "239.2.3.1", "metadata"])
    await assert.rejects(
      route(output("mqtt", `mqtt://${host}/a`), null),
      (error: ServiceError) => error.code === "address_refused",
    );
});

test("rejects a multicast group that the operator denies", async () => {
  const strict = routeOutputs({ media, network: makeConfig({ NETWORK_DENY: "239.0.0.0/8" }).network });
  const refused = strict(output("cot", "udp://239.2.3.1:6969"), null);
  await assert.rejects(refused, (error: ServiceError) => error.code === "address_refused");
});

test("has no route for data", async () => {
  assert.equal(await route(output("detection_data", null), null), null);
});

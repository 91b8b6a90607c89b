import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { makeConfig } from "../api/app.fixture.ts";
import { isOwnHost, listOwnHosts } from "../net/addresses.ts";
import { findHubPath } from "./registration.ts";

const hub = {
  rtspPort: 8554,
  rtmpPort: 1935,
  srtPort: 8890,
  rtspsPort: 8322,
  rtmpsPort: null,
  isOwnHost: (host: string) => host === "hub.example",
};
const find = (url: string) => findHubPath(url, "ada", hub);

const OURS: readonly (readonly [url: string, path: string])[] = [
  ["rtsp://hub.example:8554/ada/yard", "ada/yard"],
  ["rtmp://hub.example:1935/ada/yard", "ada/yard"],
  ["rtmp://hub.example/ada/yard", "ada/yard"],
  ["rtmp://hub.example/ada/north/cam-1.front/", "ada/north/cam-1.front"],
  ["rtsp://ada:secret@hub.example:8554/ada/yard?api_key=x", "ada/yard"],
  ["rtsp://hub.example:8554/ada/%79ard", "ada/yard"],
  ["rtsps://hub.example:8322/ada/yard", "ada/yard"],
  ["srt://hub.example:8890/ada/yard", "ada/yard"],
  ["srt://hub.example:8890?streamid=#!::r=ada/yard,m=publish,u=x", "ada/yard"],
  ["srt://hub.example:8890?streamid=%23!::u=x,r=ada/yard", "ada/yard"],
];
for (const [url, path] of OURS) test(`${url} is on the media hub`, () => assert.equal(find(url), path));

const ELSEWHERE = [
  "rtsp://hub.example/ada/yard",
  "rtsp://hub.example:1935/ada/yard",
  "rtmp://hub.example:8554/ada/yard",
  "rtsp://camera.example:8554/ada/yard",
  "rtsps://hub.example:8554/ada/yard",
  "rtmps://hub.example:1935/ada/yard",
  "srt://hub.example:8891/ada/yard",
  "srt://camera.example:8890/ada/yard",
];
for (const url of ELSEWHERE) test(`${url} is on another host`, () => assert.equal(find(url), null));

const REFUSED = [
  "rtsp://hub.example:8554/eve/yard",
  "rtsp://hub.example:8554/adam/yard",
  "rtsp://hub.example:8554/ada",
  "rtsp://hub.example:8554/ada/",
  "rtsp://hub.example:8554",
  "rtsp://hub.example:8554/ADA/yard",
  "rtsp://hub.example:8554/ada/../eve/yard",
  "rtsp://hub.example:8554/ada/%2e%2e/eve",
  "rtsp://hub.example:8554/ada//yard",
  "rtsp://hub.example:8554/ada/a%2fb",
  "rtsp://hub.example:8554/ada/.hidden",
  "rtsp://hub.example:8554/ada/%zz",
  "srt://hub.example:8890",
  "srt://hub.example:8890?streamid=yard",
  "srt://hub.example:8890?streamid=#!::r=eve/yard",
  `rtsp://hub.example:8554/ada/${"x".repeat(252)}`,
];
for (const url of REFUSED)
  test(`${url.slice(0, 60)} is rejected with the expected form`, () =>
    assert.throws(() => find(url), {
      code: "invalid_input",
      message: /expected (rt[sm]p|srt):\/\/hub\.example:\d+\/ada\//,
    }));

test("hosts of other nodes are on the media hub, at the port of this node or their RTSP port", () => {
  const others = [
    { hosts: ["north.example"], rtspPort: 8555 },
    { hosts: ["south.example"], rtspPort: null },
  ];
  const at = (url: string) => findHubPath(url, "ada", { ...hub, others });
  for (const host of ["north.example:8554", "NORTH.example.:8555", "south.example:8554"])
    assert.equal(at(`rtsp://${host}/ada/yard`), "ada/yard", host);
  assert.equal(at("rtmp://south.example/ada/yard"), "ada/yard");
  for (const host of ["south.example:8555", "hub.example:8555", "west.example:8554"])
    assert.equal(at(`rtsp://${host}/ada/yard`), null, host);
  assert.throws(() => at("rtsp://north.example:8554/eve/yard"), { code: "invalid_input" });
});

test("other nodes learn the configured names and the addresses of a machine, without those that mean another one there", () => {
  const config = makeConfig({
    ...{ PUBLIC_URL: "https://api.example.com", MEDIA_HOSTS: "Drones.example.com,localhost" },
    CLUSTER_URL: "http://10.1.2.3:8080",
  });
  const hosts = listOwnHosts(config);
  for (const host of ["api.example.com", "drones.example.com", "10.1.2.3"]) assert.ok(hosts.includes(host), host);
  for (const host of ["localhost", "127.0.0.1", "::1"]) assert.ok(!hosts.includes(host), host);
});

test("this machine has its loopback names, its addresses, and the configured names", () => {
  const config = makeConfig({ PUBLIC_URL: "https://api.example.com", MEDIA_HOSTS: "Drones.example.com,192.0.2.7" });
  const isOwn = (host: string) => isOwnHost(host, config, "http://[2001:db8::5]:8080");
  const addresses = Object.values(networkInterfaces()).flatMap((entries = []) => entries.map(({ address }) => address));
  for (const host of ["localhost", "LOCALHOST.", "127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", ...addresses])
    assert.ok(isOwn(host), host);
  for (const host of ["api.example.com", "drones.example.com", "192.0.2.7", "2001:db8::5"])
    assert.ok(isOwn(host), host);
  for (const host of ["example.com", "192.0.2.8", "128.0.0.1", "2001:db8::6"]) assert.ok(!isOwn(host), host);
});

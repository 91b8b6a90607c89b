import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { makeConfig } from "../api/app.fixture.ts";
import { blockAddresses, readNetwork } from "../net/addresses.ts";
import { guardAddress, pinAddress } from "../net/guard.ts";

const DEFAULTS = makeConfig({ NETWORK_ALLOW: "" }).network;
const network = { ...DEFAULTS, allow: ["127.0.0.0/8", "::1"], deny: ["10.0.0.0/8", "fd12::/16", "203.0.113.7"] };

const REFUSED: readonly (readonly [url: string, why: string])[] = [
  ["rtsp://169.254.169.254/latest", "link-local"],
  ["rtsp://user:pass@169.254.1.1:554/x", "link-local behind userinfo"],
  ["rtmp://[fe80::1]/live/x", "link-local IPv6"],
  ["rtmp://[febf::1]/live/x", "the end of fe80::/10"],
  ["rtsp://[::ffff:169.254.169.254]/x", "IPv4-mapped"],
  ["rtsp://[::ffff:a9fe:a9fe]/x", "IPv4-mapped in hexadecimal"],
  ["rtsp://[::a9fe:a9fe]/x", "IPv4-compatible"],
  ["rtsp://[64:ff9b::169.254.169.254]/x", "NAT64"],
  ["rtsp://[2002:a9fe:a9fe::1]/x", "6to4"],
  ["rtsp://2852039166/x", "decimal"],
  ["rtsp://0xa9fea9fe/x", "hexadecimal"],
  ["rtsp://0xA9.0xFE.0xA9.0xFE/x", "hexadecimal in parts"],
  ["rtsp://0251.0376.0251.0376/x", "octal"],
  ["rtsp://169.254.43518/x", "shortened"],
  ["rtsp://[fd00:ec2::254]/x", "metadata over IPv6"],
  ["rtsp://100.100.100.200/x", "metadata of another cloud"],
  ["rtsp://168.63.129.16/x", "metadata of a third cloud"],
  ["rtsp://metadata.google.internal/x", "metadata by name"],
  ["rtsp://METADATA.google.internal./x", "metadata by name, written otherwise"],
  ["rtsp://10.1.2.3/x", "denied network"],
  ["rtsp://[::ffff:10.1.2.3]/x", "denied network, mapped"],
  ["rtsp://0x0a010203/x", "denied network, hexadecimal"],
  ["rtsp://[fd12:1::1]/x", "denied IPv6 network"],
  ["rtsp://203.0.113.7/x", "denied address"],
  ["rtsp://0.0.0.0/x", "this machine by another name"],
  ["rtsp://0/x", "the same in short"],
  ["rtsp://[::]/x", "the same over IPv6"],
  ["rtsp://239.1.1.1/x", "multicast"],
  ["rtsp://good@169.254.169.254@10.0.0.1/x", "two @"],
  ["rtsp://example.com\\@169.254.169.254/x", "a backslash"],
  ["rtsp://exa mple.com/x", "a space"],
  ["rtsp://%31%30.0.0.1/x", "escapes in the host"],
  ["rtsp:///x", "no host"],
  ["rtsp://:554/x", "no host but a port"],
  ["rtsp://host:0/x", "port 0"],
  ["rtsp://host:99999/x", "port too large"],
  ["rtsp://1.2.3.256/x", "no IPv4 address"],
  ["nonsense", "no URL"],
];
for (const [url, why] of REFUSED) {
  test(`refuses ${url} (${why})`, async () => {
    await assert.rejects(guardAddress(url, network, "/url"), { name: "ServiceError", code: "address_refused" });
  });
}

test("suggests the setting that allows an address, if one does", async () => {
  const reasonOf = (url: string) =>
    guardAddress(url, { ...DEFAULTS, deny: ["10.9.9.9"] }, "/url").then(
      () => assert.fail("it is allowed"),
      ({ message }: Error) => message,
    );
  assert.match(
    await reasonOf("http://127.0.0.1:28999/ev"),
    /; its operator can allow it: network\.allow: \[127\.0\.0\.1\]$/,
  );
  assert.match(await reasonOf("http://[::1]/ev"), /network\.allow: \[::1\]$/);
  for (const url of ["http://169.254.169.254/latest", "http://10.9.9.9/"])
    assert.match(await reasonOf(url), /does not connect to that network$/);
});

const TAKEN: readonly (readonly [url: string, addresses: readonly string[]])[] = [
  ["rtsp://192.168.1.20:554/stream", ["192.168.1.20"]],
  ["rtsp://user:p%40ss@127.0.0.1/x", ["127.0.0.1"]],
  ["rtmp://2130706433/live/x", ["127.0.0.1"]],
  ["rtsp://[::1]:8554/x", ["::1"]],
  ["rtsp://[2001:db8::5]/x", ["2001:db8::5"]],
  ["mqtt://11.0.0.1:1883", ["11.0.0.1"]],
  ["rtsp://nowhere.invalid/x", []],
];
for (const [url, addresses] of TAKEN) {
  test(`takes ${url}`, async () => {
    assert.deepEqual(await guardAddress(url, network, "/url"), addresses);
  });
}

test("looks names up, and refuses by what they lead to", async () => {
  assert.ok((await guardAddress("rtsp://localhost/x", network, "/url")).length > 0);
  await assert.rejects(guardAddress("rtsp://localhost/x", DEFAULTS, "/url"), {
    code: "address_refused",
    message: /localhost leads to/,
  });
});

test("shows no password when it refuses", async () => {
  await assert.rejects(guardAddress("rtsp://admin:hunter2@10.0.0.1/x", network, "/url"), (error: Error) => {
    assert.doesNotMatch(JSON.stringify([error.message, error]), /hunter2/);
    return true;
  });
});

test("puts an address in the place of a name", () => {
  assert.equal(pinAddress("rtsp://a:b@cam.local:554/x?y=1", "192.0.2.1"), "rtsp://a:b@192.0.2.1:554/x?y=1");
  assert.equal(pinAddress("rtsp://cam.local", "2001:db8::1"), "rtsp://[2001:db8::1]");
  assert.equal(pinAddress("rtsp://192.0.2.9/x", "192.0.2.1"), "rtsp://192.0.2.9/x");
});

test("reads networks, and says which entry is none", () => {
  assert.deepEqual(readNetwork("10.0.0.0/8"), { address: "10.0.0.0", bits: 8, family: "ipv4" });
  assert.deepEqual(readNetwork("::1"), { address: "::1", bits: 128, family: "ipv6" });
  for (const text of ["10.0.0.0/33", "10.0.0/8", "host", "10.0.0.0/8/8", "10.0.0.0/", "::/129"]) {
    assert.equal(readNetwork(text), null, text);
    for (const key of ["deny", "allow", "allow_devices"] as const)
      assert.throws(
        () => blockAddresses({ ...DEFAULTS, [key]: [text] }, { isWeb: false, allowsGroups: false }),
        /network\.(deny|allow)/,
      );
  }
});

const isTaken = (url: string, settings = DEFAULTS): Promise<boolean> =>
  guardAddress(url, settings, "/url").then(
    () => true,
    () => false,
  );

/** Host, whether a camera may be there by default, whether `allow` of that network opens it to webhooks. */
const CLOSED: readonly (readonly [host: string, isForDevices: boolean])[] = [
  ["127.0.0.1", false],
  ["127.9.9.9", false],
  ["[::1]", false],
  ["[::ffff:127.0.0.1]", false],
  ["[64:ff9b::7f00:1]", false],
  ["[2002:7f00:1::]", false],
  ["10.1.2.3", true],
  ["172.31.255.255", true],
  ["192.168.1.20", true],
  ["100.64.0.1", true],
  ["[fd12:3456::1]", true],
  ["[::ffff:10.1.2.3]", true],
  ["[64:ff9b::a01:203]", true],
  ["[64:ff9b:1::a01:203]", false],
  ["[64:ff9b:1:fffe::1]", false],
  ["198.18.0.1", false],
  ["240.0.0.1", false],
  ["[fec0::1]", false],
  ["[2001:0:1::1]", false],
];
for (const [host, isForDevices] of CLOSED) {
  test(`${host} is closed to webhooks${isForDevices ? ", and open to cameras" : " and cameras"}, until it is allowed`, async () => {
    assert.equal(await isTaken(`https://${host}/hook`), false);
    for (const scheme of ["rtsp", "rtmps", "mqtt", "udp"])
      assert.equal(await isTaken(`${scheme}://${host}:5000/x`), isForDevices, scheme);
    const strict = { ...DEFAULTS, allow_devices: [] };
    assert.equal(await isTaken(`rtsp://${host}/x`, strict), false);
    const all = { ...strict, allow: ["0.0.0.0/0", "::/0"] };
    for (const scheme of ["https", "rtsp"]) assert.equal(await isTaken(`${scheme}://${host}/x`, all), true, scheme);
    assert.equal(await isTaken(`rtsp://${host}/x`, { ...all, deny: ["0.0.0.0/0", "::/0"] }), false);
  });
}

test("public addresses are open to all, also by NAT64", async () => {
  for (const host of ["192.0.2.1", "[2001:db8::1]", "[64:ff9b::c000:201]", "[2002:c000:201::]"])
    for (const scheme of ["https", "rtsp"]) assert.equal(await isTaken(`${scheme}://${host}/x`), true, host);
});

test("no allow-list opens link-local and metadata addresses", async () => {
  const all = { ...DEFAULTS, allow: ["0.0.0.0/0", "::/0"] };
  for (const host of ["169.254.169.254", "[fe80::1]", "100.100.100.200", "0.0.0.0", "[fd00:ec2::254]", "239.1.1.1"])
    assert.equal(await isTaken(`https://${host}/x`, all), false, host);
});

test("this machine is closed by every address it has, also within a network of cameras", async (t) => {
  const own = Object.values(networkInterfaces())
    .flatMap((entries = []) => entries)
    .filter(({ family, internal }) => family === "IPv4" && !internal);
  if (own[0] === undefined) return t.skip("this machine has loopback alone");
  const { address } = own[0];
  assert.equal(await isTaken(`rtsp://${address}/x`, { ...DEFAULTS, allow_devices: ["0.0.0.0/0"] }), false);
  assert.equal(await isTaken(`rtsp://${address}/x`, { ...DEFAULTS, allow: [address] }), true);
});

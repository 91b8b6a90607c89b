import assert from "node:assert/strict";
import { test } from "node:test";
import { originOf, plainAddress } from "../schemas/client-origin.ts";
import { Connections } from "./connections.ts";

test("limits connections per address and in total, and frees a place only once", () => {
  const connections = new Connections({ connections: 3, connectionsPerAddress: 2 });
  const first = connections.admit("10.0.0.1");
  assert.ok(first);
  assert.ok(connections.admit("10.0.0.1"));
  assert.equal(connections.admit("10.0.0.1"), null);
  assert.ok(connections.admit("10.0.0.2"));
  assert.equal(connections.admit("10.0.0.3"), null);
  assert.deepEqual([connections.count, connections.rejected], [3, 2]);
  first();
  first();
  assert.equal(connections.count, 2);
  assert.ok(connections.admit("10.0.0.1"));
  assert.equal(connections.admit("10.0.0.4"), null);
});

test("reserves a tenth of the connections for the local machine", () => {
  const connections = new Connections({ connections: 20, connectionsPerAddress: 20 });
  for (let i = 0; i < 18; i++) assert.ok(connections.admit(`10.0.0.${i}`));
  assert.equal(connections.admit("10.0.1.1"), null);
  assert.equal(connections.admit("128.0.0.1"), null);
  assert.ok(connections.admit("::ffff:127.0.0.1"));
  assert.ok(connections.admit("::1"));
  assert.equal(connections.admit("127.0.0.1"), null);
});

test("counts an IPv4-mapped IPv6 address as IPv4", () => {
  const connections = new Connections({ connections: 10, connectionsPerAddress: 1 });
  assert.ok(connections.admit("::ffff:10.0.0.1"));
  assert.equal(connections.admit("10.0.0.1"), null);
  assert.equal(connections.admit("::FFFF:10.0.0.1"), null);
});

test("normalizes addresses", () => {
  assert.equal(plainAddress("::ffff:10.0.0.1"), "10.0.0.1");
  assert.equal(plainAddress("FE80::1%eth0"), "fe80::1");
});

test("a host cannot hide behind the many addresses of its IPv6 network", () => {
  const one = originOf("2001:db8:0:7::1");
  for (const other of [
    "2001:db8:0:7:ffff:1:2:3",
    "2001:0db8::7:0:0:0:9",
    "2001:DB8:0:7::1%eth0",
    "2001:db8:0:7::1.2.3.4",
  ])
    assert.equal(originOf(other), one, other);
  assert.notEqual(originOf("2001:db8:0:8::1"), one);
  assert.notEqual(originOf("2001:db8::1"), one);
  assert.equal(originOf("::1"), originOf("0:0:0:0:0:0:0:1"));
});

test("a socket that has lost its address already counts like any other", () => {
  const connections = new Connections({ connections: 10, connectionsPerAddress: 1 });
  const leave = connections.admit(undefined);
  assert.ok(leave);
  assert.equal(connections.admit(undefined), null);
  leave();
  assert.equal(connections.count, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { readStreamAddress } from "./stream-address.ts";

test("app and name are one path, wherever a client splits it, and the key is found wherever it puts it", () => {
  const rows: [app: string, name: string, tcUrl: string, path: string | null, secret?: string | null][] = [
    ["user", "cam", "", "user/cam", null],
    ["user", "a/b/c?api_key=k", "", "user/a/b/c", "k"],
    ["user/a/b", "c?api_key=k", "", "user/a/b/c", "k"],
    ["user/a", "", "", "user/a", null],
    ["", "user/a?api_key=k", "", "user/a", "k"],
    ["user/", "/cam/", "", "user/cam", null],
    ["user?api_key=k", "cam", "", "user/cam", "k"],
    ["user", "cam", "rtmp://host/user?api_key=k", "user/cam", "k"],
    ["user?api_key=app", "cam?api_key=name", "rtmp://host/user?api_key=url", "user/cam", "name"],
    ["user", "cam?x=1&api_key=a%2Bb&y", "", "user/cam", "a+b"],
    ["user", "cam?user=me&pass=k", "", "user/cam", "k"],
    ["user", "cam?pass=other&api_key=k", "", "user/cam", "k"],
    ["user", "cam", "rtmp://me:k%21@host/user", "user/cam", "k!"],
    ["user", "cam", "rtmp://me:%zz@host/user", "user/cam", null],
    ["user", "cam?api_key=", "no address", "user/cam", null],
    ["user", "", "", null],
    ["", "", "", null],
    ["user", "../other/cam", "", null],
    ["user", "%2e%2e/cam", "", null],
    ["user/..", "cam", "", null],
    ["user", "a//b", "", null],
  ];
  for (const [app, name, tcUrl, path, secret = null] of rows) {
    const expected = path === null ? null : { path, secret };
    assert.deepEqual(readStreamAddress({ app, tcUrl }, name), expected, `${app} | ${name} | ${tcUrl}`);
  }
});

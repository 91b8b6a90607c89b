import assert from "node:assert/strict";
import { test } from "node:test";
import { newUuid } from "../uuid.ts";
import { type WaitingNotice, WaitingNotices } from "./waiting-notices.ts";

function noticeOf(id: string, bytes: number, process = newUuid()): WaitingNotice {
  const uuids = { alert_uuid: newUuid(), process_uuid: process, source_uuid: newUuid() };
  const found = { timestamp: new Date(0).toISOString(), event: "triggered" as const, tracks: [], data: {} };
  return { draft: { id, type: "flow-control", ...uuids, ...found }, bytes, tell() {} };
}

test("no more are taken at once than may be, by number and by bytes, but always one", () => {
  const waiting = new WaitingNotices({ notices: 100, bytes: 100_000 });
  for (const [id, bytes] of [...[1, 2, 3, 4, 5, 6].map((at) => [String(at), 100] as const), ["large", 9000] as const])
    waiting.add(noticeOf(id, bytes));
  const take = () => waiting.take({ notices: 3, bytes: 250 }).map(({ draft }) => draft.id);
  assert.deepEqual([take(), take(), take(), take(), take()], [["1", "2"], ["3", "4"], ["5", "6"], ["large"], []]);
  for (const at of [1, 2, 3, 4]) waiting.add(noticeOf(String(at), 10));
  assert.deepEqual([take(), take()], [["1", "2", "3"], ["4"]]);
});

test("a process that alerts all the time costs no other a notice, and loses its own oldest", () => {
  const waiting = new WaitingNotices({ notices: 10, bytes: 1000 });
  const [loud, quiet] = [newUuid(), newUuid()];
  waiting.add(noticeOf("quiet", 10, quiet));
  for (let at = 1; at <= 50; at++) waiting.add(noticeOf(String(at), 100, loud));
  const left = waiting.take({ notices: 100, bytes: 100_000 });
  assert.deepEqual(
    left.map(({ draft }) => draft.id),
    ["quiet", ...[42, 43, 44, 45, 46, 47, 48, 49, 50].map(String)],
  );
  assert.deepEqual([waiting.takeLosses(), waiting.isEmpty], [41, true]);
  waiting.putBack(left);
  assert.equal(waiting.size, 10);
});

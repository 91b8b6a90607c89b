import assert from "node:assert/strict";
import { test } from "node:test";
import { newUuid } from "../uuid.ts";
import { type WaitingNotice, WaitingNotices } from "./waiting-notices.ts";

function noticeOf(id: string, bytes: number): WaitingNotice {
  const uuids = { alert_uuid: newUuid(), process_uuid: newUuid(), source_uuid: newUuid() };
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

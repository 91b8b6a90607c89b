import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeSocketFolder } from "./socket-folder.ts";

test("folders of servers that are gone are removed, also of one that had our number; those of the living stay", async () => {
  const prefix = `windhover-folder-test-${process.pid}-`;
  const leftBy = (pid: number): string => mkdtempSync(join(tmpdir(), `${prefix}${pid}-`));
  const [ofSelf, ofParent, ofNobody] = [leftBy(process.pid), leftBy(process.ppid), leftBy(2 ** 22 + 1)];
  const first = await makeSocketFolder(prefix);
  const second = await makeSocketFolder(prefix);
  try {
    const folders = { ofSelf, ofParent, ofNobody, first, second };
    const left = Object.entries(folders).filter(([, folder]) => existsSync(folder));
    assert.deepEqual(
      left.map(([name]) => name),
      ["ofParent", "first", "second"],
    );
  } finally {
    for (const folder of [ofSelf, ofParent, ofNobody, first, second]) rmSync(folder, { recursive: true, force: true });
  }
});

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../test/graph.fixture.ts";
import { until } from "../test/watch.fixture.ts";
import { openSlots } from "./test-slots.mjs";

/** Names of the processes that have a slot, in the order of their asking. */
class Asking {
  readonly granted: string[] = [];
  readonly path = join(temporaryFolder(), "slots");

  async ask(name: string): Promise<Socket> {
    const socket = connect(this.path).once("data", () => this.granted.push(name));
    await once(socket, "connect");
    return socket;
  }
}

test("a process waits for a slot until another one has ended", async () => {
  const asking = new Asking();
  const slots = await openSlots(asking.path, 1);
  try {
    const first = await asking.ask("first");
    await once(first, "data");
    const [gone, last] = [await asking.ask("gone"), await asking.ask("last")];
    gone.destroy();
    await once(gone, "close");
    first.destroy();
    await once(last, "data");
    assert.deepEqual(asking.granted, ["first", "last"]);
    last.destroy();
  } finally {
    slots.close();
  }
});

test("more than the fewest run only while the processors have idle time, and never more than the most", async () => {
  const asking = new Asking();
  const times = { all: 0, idle: 0 };
  let share = 0;
  let reads = 0;
  const read = () => {
    reads += 1;
    times.all += 100;
    times.idle += 100 * share;
    return { ...times };
  };
  const slots = await openSlots(asking.path, 3, { fewest: 1, sampleMs: 1, read });
  const sockets: Socket[] = [];
  const passReads = (count: number) => {
    const end = reads + count;
    return until(() => reads >= end);
  };
  try {
    for (const name of ["a", "b", "c", "d"]) sockets.push(await asking.ask(name));
    await passReads(20);
    assert.deepEqual(asking.granted, ["a"], "busy processors");
    share = 0.5;
    await passReads(40);
    assert.deepEqual(asking.granted, ["a", "b", "c"], "idle processors");
    share = 0;
    await passReads(20);
    sockets[0]?.destroy();
    await passReads(20);
    assert.deepEqual(asking.granted, ["a", "b", "c"], "busy again: nobody takes the place of the one that has ended");
  } finally {
    for (const socket of sockets) socket.destroy();
    slots.close();
  }
});

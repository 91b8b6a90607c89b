import assert from "node:assert/strict";
import { test } from "node:test";
import { SerialQueue } from "../async/serial-queue.ts";
import { silentLog } from "../store/database.fixture.ts";
import type { StateMachine } from "./lifecycle.ts";
import { ORIGINAL, OriginalStream, PulledSources } from "./original-stream.ts";
import type { Attachment, AttachmentReport } from "./runner.ts";

interface Stage {
  readonly stream: OriginalStream;
  readonly calls: string[];
  readonly tokens: Set<string>;
  readonly queue: SerialQueue;
  state: StateMachine["state"];
  nowMs: number;
}

function stage({ isOffered = true } = {}): Stage {
  const [calls, tokens, queue]: [string[], Set<string>, SerialQueue] = [[], new Set(), new SerialQueue()];
  const machine = {
    get state() {
      return set.state;
    },
  };
  const stream = new OriginalStream({
    ...{ log: silentLog, machine, queue, graph: "own", isOffered: () => isOffered, now: () => set.nowMs },
    link: {
      attach: async ({ params }: Attachment) => void calls.push(`attach ${String(params.url)}`),
      detach: async (id: string) => void calls.push(`detach ${id}`),
    },
    hub: {
      issueToken: (_, path) => {
        tokens.add(path);
        return { url: `rtsp://hub/${path}`, revoke: () => void tokens.delete(path) };
      },
    },
  });
  const set: Stage = { stream, calls, tokens, queue, state: "running", nowMs: 0 };
  return set;
}

const settle = ({ queue }: Stage): Promise<void> => queue.run(async () => {});
const report = (status: AttachmentReport["status"], detail: string | null = null): AttachmentReport => ({
  ...{ type: "attachment", attachment: ORIGINAL, status, detail, framesSent: 0, framesDropped: 0 },
});

test("publishes while it is wanted, with a token for that time", async () => {
  const set = stage();
  set.stream.want("ada/~1");
  set.stream.want("ada/~1");
  await settle(set);
  assert.deepEqual(set.calls, ["attach rtsp://hub/ada/~1"]);
  assert.deepEqual([...set.tokens], ["ada/~1"]);
  set.stream.want(null);
  await settle(set);
  assert.deepEqual(set.calls.splice(0), ["attach rtsp://hub/ada/~1", "detach original"]);
  assert.equal(set.tokens.size, 0);
});

test("every further runner begins with it", async () => {
  const set = stage();
  assert.deepEqual(set.stream.beginRun(), []);
  set.stream.want("ada/~1");
  await settle(set);
  set.state = "restarting";
  set.stream.endRun();
  assert.equal(set.tokens.size, 0);
  const [attachment] = set.stream.beginRun();
  assert.deepEqual(
    [attachment?.slot, attachment?.params, attachment?.isExpendable],
    [ORIGINAL, { url: "rtsp://hub/ada/~1" }, true],
  );
  set.state = "running";
  set.stream.want("ada/~1");
  await settle(set);
  assert.deepEqual(set.calls, ["attach rtsp://hub/ada/~1"]);
});

test("a format that cannot be published is the reason, and is tried again later", async () => {
  const set = stage();
  set.stream.want("ada/~1");
  await settle(set);
  set.stream.handle(report("failed", "not-negotiated"));
  assert.match(set.stream.trouble ?? "", /only H\.264 and H\.265 can: not-negotiated/);
  assert.equal(set.tokens.size, 0);
  set.stream.want("ada/~1");
  await settle(set);
  assert.deepEqual(set.calls.splice(0), ["attach rtsp://hub/ada/~1", "detach original"]);
  set.nowMs = 10_000;
  set.stream.want("ada/~1");
  await settle(set);
  assert.deepEqual(set.calls, ["attach rtsp://hub/ada/~1"]);
  set.stream.handle(report("live"));
  assert.equal(set.stream.trouble, null);
});

test("of several processes of a source one publishes: another when that one is paused or has ended", async () => {
  const [one, two] = [stage(), stage()];
  const toProcess = (set: Stage) => ({ row: { sourceUuid: "s" }, attachments: { original: set.stream } });
  let processes = [toProcess(one), toProcess(two)];
  const pulled = new PulledSources(() => processes);
  assert.deepEqual(pulled.uuids, ["s"]);
  const sync = async () => {
    pulled.sync(new Map([["s", "ada/~s"]]));
    await settle(one);
    await settle(two);
    return [one.stream.isAttached, two.stream.isAttached];
  };
  assert.deepEqual(await sync(), [true, false]);
  assert.deepEqual(await sync(), [true, false]);
  one.state = "paused";
  assert.deepEqual(await sync(), [false, true]);
  one.state = "running";
  assert.deepEqual(await sync(), [false, true]);
  processes = [toProcess(one)];
  two.stream.endRun();
  assert.deepEqual(await sync(), [true, false]);
  pulled.sync(new Map());
  await settle(one);
  assert.deepEqual([one.stream.isAttached, pulled.whyNot("s")], [false, null]);
});

test("a graph without the slot is the reason", () => {
  const { stream } = stage({ isOffered: false });
  const pulled = new PulledSources(() => [{ row: { sourceUuid: "s" }, attachments: { original: stream } }]);
  pulled.sync(new Map([["s", "ada/~s"]]));
  assert.equal(stream.isAttached, false);
  assert.match(pulled.whyNot("s") ?? "", /the graph own has no slot `original`/);
  assert.equal(pulled.whyNot("other"), null);
});

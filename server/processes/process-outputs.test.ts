import assert from "node:assert/strict";
import { test } from "node:test";
import { NoRoute, type OutputRoute, type RouteOutput } from "../outputs/route-output.ts";
import { ServiceError } from "../service-error.ts";
import type { AttachedOutput } from "../store/outputs.ts";
import { ProcessOutputs } from "./process-outputs.ts";

const output = (outputUuid: string, type: AttachedOutput["type"] = "rtmp"): AttachedOutput => ({
  ...{ outputUuid, type, url: "rtmp://there/live/a", settings: null, username: "ada" },
});

/** Ways as the test says: an error is thrown, a text is the URL, and the same text is the same way. */
class Ways {
  readonly open = new Set<OutputRoute>();
  next: string | Error = "one";

  readonly route: RouteOutput = async ({ type }, failing) => {
    if (type === "detection_data") return null;
    if (this.next instanceof Error) throw this.next;
    if (failing?.params.url === this.next) return failing;
    const route = { params: { url: this.next }, release: () => void this.open.delete(route) };
    this.open.add(route);
    return route;
  };
}

const report = (attachment: string, status: "live" | "retrying", detail: string | null = null) =>
  ({ type: "attachment", attachment, status, detail, framesSent: 7, framesDropped: 2 }) as const;

test("one that is added is attached, told of from its first word on, and its way is closed when it goes", async () => {
  const ways = new Ways();
  const outputs = new ProcessOutputs([], ways.route);
  await outputs.add(output("a"), async ({ id, slot, params }) => {
    assert.deepEqual([id, slot, params], ["a", "rtmp", { url: "one" }]);
    assert.deepEqual([outputs.attachments, outputs.states], [[], []], "a run that begins now does not have it");
    outputs.hear(report("a", "live"));
  });
  assert.deepEqual(outputs.states, [
    { outputUuid: "a", type: "rtmp", status: "live", detail: null, framesSent: 7, framesDropped: 2 },
  ]);
  assert.equal(ways.open.size, 1);
  outputs.delete("a");
  assert.deepEqual([outputs.has("a"), ways.open.size], [false, 0]);
  outputs.hear(report("a", "live"));
  assert.deepEqual(outputs.states, []);
});

test("one that is refused leaves nothing, whoever refuses it", async () => {
  const ways = new Ways();
  const outputs = new ProcessOutputs([], ways.route);
  const refusal = new Error("no encoder");
  await assert.rejects(
    outputs.add(output("a"), () => Promise.reject(refusal)),
    refusal,
  );
  ways.next = new ServiceError("address_refused", { detail: "not there" });
  await assert.rejects(
    outputs.add(output("a"), () => assert.fail("it was attached")),
    ways.next,
  );
  assert.deepEqual([outputs.states, ways.open.size], [[], 0]);
});

test("data needs no way and is live", async () => {
  const outputs = new ProcessOutputs([], new Ways().route);
  await outputs.add(output("a", "detection_data"), () => assert.fail("it was attached"));
  assert.deepEqual([outputs.isRouted("a"), outputs.states[0]?.status], [false, "live"]);
});

test("every run has ways of its own, and those of the one before are closed", async () => {
  const ways = new Ways();
  const outputs = new ProcessOutputs([output("a"), output("b", "rtsp"), output("c", "detection_data")], ways.route);
  await outputs.prepare();
  const first = [...ways.open];
  assert.deepEqual(
    outputs.attachments.map(({ id, slot }) => [id, slot]),
    [
      ["a", "rtmp"],
      ["b", "rtsp"],
    ],
  );
  outputs.hear(report("a", "retrying", "rtmp://u:sesame@there is away"));
  assert.equal(outputs.states[0]?.detail, "rtmp://***@there is away");
  outputs.endRun();
  assert.deepEqual([ways.open.size, outputs.states[0]?.status, outputs.states[0]?.detail], [0, "starting", null]);
  await outputs.prepare();
  assert.equal(ways.open.size, 2);
  assert.ok(first.every((route) => !ways.open.has(route)));
});

test("a run begins without those that may not or cannot go anywhere, which say why", async () => {
  const ways = new Ways();
  const outputs = new ProcessOutputs([output("a")], ways.route);
  for (const [error, status] of [
    [new ServiceError("address_refused", { detail: "not there" }), "failed"],
    [new NoRoute("no such host"), "retrying"],
    [new TypeError("broken"), "retrying"],
  ] as const) {
    ways.next = error;
    await outputs.prepare();
    assert.deepEqual(outputs.attachments, []);
    assert.deepEqual([outputs.states[0]?.status, outputs.states[0]?.detail], [status, error.message]);
  }
});

test("one that gets nowhere is attached again when there is another way", async () => {
  const ways = new Ways();
  const outputs = new ProcessOutputs([output("a"), output("b", "rtsp")], ways.route);
  await outputs.prepare();
  const orders: string[] = [];
  const tend = async () =>
    outputs.follow(
      await outputs.seek(),
      async (uuid) => void orders.push(`detach ${uuid}`),
      async ({ id, params }) => void orders.push(`attach ${id} ${params.url}`),
    );
  for (const status of ["live", "retrying"] as const) {
    for (const uuid of ["a", "b"]) outputs.hear(report(uuid, status));
    await tend();
    assert.deepEqual(orders, [], "it is the same way");
  }
  ways.next = "two";
  await tend();
  assert.deepEqual(orders.splice(0), ["detach a", "attach a two"]);
  assert.equal(outputs.states[0]?.status, "starting");
  outputs.hear(report("a", "retrying"));
  ways.next = new NoRoute("no such host");
  await tend();
  assert.deepEqual(orders.splice(0), ["detach a"]);
  await tend();
  ways.next = "three";
  await tend();
  assert.deepEqual(orders, ["attach a three"]);
});

test("names are looked up all at once, and what has changed meanwhile is left as it is", async () => {
  let asked = 0;
  let answer = (): void => {};
  const all = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let hasBegun = false;
  const ways = new Ways();
  const outputs = new ProcessOutputs([output("a"), output("b")], async (given, failing) => {
    if (!hasBegun) return ways.route(given, failing);
    if (++asked === 2) answer();
    await all;
    return ways.route(given, failing);
  });
  await outputs.prepare();
  for (const uuid of ["a", "b"]) outputs.hear(report(uuid, "retrying"));
  hasBegun = true;
  ways.next = "two";
  const detours = await outputs.seek();
  outputs.delete("a");
  const orders: string[] = [];
  await outputs.follow(
    detours,
    async (uuid) => void orders.push(`detach ${uuid}`),
    async ({ id, params }) => void orders.push(`attach ${id} ${params.url}`),
  );
  assert.deepEqual(orders, ["detach b", "attach b two"]);
  outputs.endRun();
  assert.equal(ways.open.size, 1, "that of b's first way, which the runner has let go of");
});

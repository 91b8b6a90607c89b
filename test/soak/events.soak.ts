/**
 * The server is killed again and again while streams come and go and a process waits for one of them: the event log has
 * every transition once, and a client that continues with `Last-Event-ID` gets them in order.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AccountEvent } from "../../schemas/api/account-events.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceDetails, SourceRecord } from "../../schemas/api/sources.ts";
import { keepPublishing } from "../../server/media/publisher.fixture.ts";
import { EventReader } from "../api/account-events.fixture.ts";
import { MASTER_KEY, TestService } from "../api/service.fixture.ts";
import { findFreePort } from "../ports.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { progress, rounds, seededRandom } from "./rounds.fixture.ts";

const ROUNDS = rounds(1, 20);
const MAX_PAUSE_MS = rounds(500, 4000);
const random = seededRandom();

let service: TestService;
let port: number;
let username: string;
const ends: (() => void)[] = [];

before(async () => {
  port = await findFreePort();
  service = await TestService.start({ env: { WINDHOVER_RTSP_PORT: String(port) } });
  username = (await service.expect<{ username: string }>(200, "GET", "/login")).username;
});
after(async () => {
  for (const end of ends) end();
  await service?.close();
});

function publish(name: string): () => void {
  const { end } = keepPublishing(`rtsp://key:${MASTER_KEY}@127.0.0.1:${port}/${username}/${name}`);
  ends.push(end);
  return end;
}

async function addStream(name: string): Promise<string> {
  const input_url = `rtsp://127.0.0.1:${port}/${username}/${name}`;
  const json = { alias: name, input_url, stream_type: "rtsp" };
  return (await service.expect<SourceRecord>(201, "POST", "/stream", { json })).uuid;
}

async function listAll(): Promise<readonly AccountEvent[]> {
  const events: AccountEvent[] = [];
  for (let after = 0; ; after = events.at(-1)?.id ?? 0) {
    const path = `/events?limit=1000&after=${after}`;
    const page = await service.expect<{ events: AccountEvent[] }>(200, "GET", path);
    if (page.events.length === 0) return events;
    events.push(...page.events);
  }
}

const reachSource = (uuid: string, statuses: readonly string[]) =>
  poll(`the source is ${statuses.join(" or ")}`, async () =>
    statuses.includes((await service.expect<SourceDetails>(200, "GET", `/source/${uuid}`)).status),
  );
const reachProcess = (uuid: string, state: string) =>
  poll(`the process is ${state}`, async () => {
    const process = await service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
    return process.state === state;
  });

async function killServer(): Promise<void> {
  process.kill(service.serving.pid, "SIGKILL");
  await service.serving.ended;
  await service.startAgain();
}

/** What may follow each event of a process that waits whenever its source is lost. */
const FOLLOWING: Readonly<Record<string, readonly string[]>> = {
  "": ["process-waiting"],
  "process-waiting": ["process-started", "process-finished"],
  "process-started": ["process-reconnecting", "process-restarted", "process-waiting", "process-finished"],
  "process-reconnecting": ["process-reconnected", "process-restarted", "process-waiting", "process-finished"],
  "process-reconnected": ["process-reconnecting", "process-restarted", "process-waiting", "process-finished"],
  "process-restarted": [
    ...["process-reconnecting", "process-reconnected", "process-restarted", "process-waiting", "process-finished"],
  ],
};

function checkStreams(events: readonly AccountEvent[], sourceUuid: string): number {
  const types = events
    .filter(({ type, source_uuid }) => source_uuid === sourceUuid && /^stream-(began|ended)$/.test(type))
    .map(({ type }) => type);
  const expected = types.map((_, at) => (at % 2 === 0 ? "stream-began" : "stream-ended"));
  assert.deepEqual(types, expected, "streams begin and end in turn");
  assert.equal(types.at(-1), "stream-ended");
  return types.length / 2;
}

test(`the event log has every transition once over ${ROUNDS} kills of the server`, { timeout: 3_000_000 }, async () => {
  const [steady, fleeting] = [await addStream("steady"), await addStream("fleeting")];
  const reader = new EventReader(() => service.url, { lastId: "0" });
  const json = { wait: true, keep: true };
  const path = `/start?source_uuid=${steady}&graph=preview`;
  const { process_uuid: uuid } = await service.expect<StartedProcess>(201, "POST", path, { json });
  // Seen by a client, each time before the server was killed or the publisher ended.
  let seen = 0;
  let endFleeting = (): void => {};
  let before: readonly AccountEvent[] = [];
  const endSteady = publish("steady");
  for (let round = 0; round < ROUNDS; round += 1) {
    endFleeting = publish("fleeting");
    await reachSource(fleeting, ["streaming"]);
    seen += 1;
    if (random.next() < 0.5) {
      endFleeting();
      await reachSource(fleeting, ["offline"]);
    }
    await sleep(random.next() * MAX_PAUSE_MS);
    before = await listAll();
    await killServer();
    endFleeting();
    const now = await listAll();
    assert.deepEqual(now.slice(0, before.length), before, "what was listed stays as it was");
    progress("kills of the server", round + 1, ROUNDS);
  }
  await reachProcess(uuid, "running");
  endSteady();
  await reachSource(steady, ["offline"]);
  await reachProcess(uuid, "waiting");
  await service.expect(200, "DELETE", `/process/${uuid}`);
  const isOver = (events: readonly AccountEvent[]) =>
    events.some(({ type, process_uuid }) => type === "process-finished" && process_uuid === uuid);
  const events = await poll("the end of the process in the log", async () => {
    const all = await listAll();
    return isOver(all) && all;
  });

  const context = `seed ${random.seed}\n${events.map(({ id, type, source_uuid, data }) => `${id} ${type} ${source_uuid} ${JSON.stringify(data)}`).join("\n")}`;
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, at) => at + 1),
    "numbers have no gaps",
  );
  assert.ok(checkStreams(events, steady) >= ROUNDS + 1, context);
  assert.ok(checkStreams(events, fleeting) >= seen, context);
  let last = "";
  for (const { type, process_uuid } of events) {
    if (process_uuid !== uuid) continue;
    assert.ok(FOLLOWING[last]?.includes(type), `${type} after ${last}\n${context}`);
    last = type;
  }
  assert.equal(last, "process-finished");
  await poll("the client has all events", () => reader.events.length >= events.length);
  await reader.close();
  assert.deepEqual(reader.events, events, "each was sent once and in order");
  assert.deepEqual(reader.gaps, []);
  assert.ok(reader.connections > ROUNDS);
});

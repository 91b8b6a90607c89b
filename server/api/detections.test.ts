/** Stored detections over HTTP: the real supervisor with scripted runners, a real database and a real folder. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { CameraMessage } from "../../schemas/camera-message.ts";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { poll } from "../../test/watch.fixture.ts";
import { cameraAt, Sender, START_MS, sceneAt } from "../detections/detections.fixture.ts";
import { StoredDetections } from "../detections/detections.ts";
import { addUser, openStage } from "../processes/supervisor.fixture.ts";
import { ServiceError } from "../service-error.ts";
import { silentLog, testDatabase } from "../store/database.fixture.ts";
import { newUuid } from "../uuid.ts";
import { makeConfig, openApp } from "./app.fixture.ts";
import { detectionEndpoints } from "./detections.ts";

const database = await testDatabase();
const config = makeConfig({ DATA_DIR: temporaryFolder() });
const detections = new StoredDetections({
  config,
  log: silentLog,
  nodeUuid: newUuid(),
  shared: null,
  hasSpace: () => true,
});
const options = { needs: { listeners: [detections] }, isAlone: false };
const live = await openStage(database.sql, options);
const user = live.user;
const onFile = await openStage(database.sql, { ...options, user, sourceUuid: live.sourceUuid, isFile: true });
const stranger = await addUser(database.sql);
const app = await openApp(detectionEndpoints({ sql: database.sql, detections, stallMs: 300 }), {
  authenticate: async (key) => {
    const found = [user, stranger].find(({ username }) => username === key);
    if (found === undefined) throw new ServiceError("api_key_invalid", { detail: "there is no such key" });
    return found;
  },
});
after(async () => {
  await app.close(0);
  await live.supervisor.close();
  await onFile.supervisor.close();
  await detections.close();
  await database.close();
});

const isMessage = new Ajv2020({ strict: true }).compile(DetectionMessage);

async function get(uuid: string, query = "", key = user.username) {
  const answer = await app.call(`/process/${uuid}/detections${query}`, { headers: { api_key: key } });
  const text = await answer.text();
  if (answer.status !== 200) return { status: answer.status, problem: JSON.parse(text), messages: [] };
  assert.equal(answer.headers.get("content-type"), "application/x-ndjson");
  const messages = text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as DetectionMessage);
  for (const message of messages) assert.ok(isMessage(message), JSON.stringify(isMessage.errors));
  return { status: 200, problem: null, messages };
}

const timesOf = (messages: readonly DetectionMessage[]) => messages.map(({ timestamp }) => timestamp);

test("streams what a running process has sent so far, and a range of it by time", async () => {
  const sent: DetectionMessage[] = [];
  const uuid = await live.start();
  await live.waitFor(uuid, (notice) => {
    if (notice.type === "message") sent.push(notice.message as DetectionMessage);
    return sent.length >= 8;
  });
  // A request waits only so long until the last messages are on disk.
  const messages = await poll("all messages are stored", async () => {
    const stored = (await get(uuid)).messages;
    return stored.some(({ timestamp }) => timestamp === sent.at(-1)?.timestamp) && stored;
  });
  const at = messages.findIndex(({ timestamp }) => timestamp === sent[0]?.timestamp);
  assert.deepEqual(messages.slice(at, at + sent.length), sent);
  const [from = "", to = ""] = [sent[2]?.timestamp, sent[6]?.timestamp];
  assert.deepEqual((await get(uuid, `?from=${from}&to=${to}`)).messages, sent.slice(2, 6));
  const offset = from.replace("Z", encodeURIComponent("+00:00"));
  assert.equal((await get(uuid, `?from=${offset}`)).messages[0]?.timestamp, from);
  await live.supervisor.stop(user, uuid);
  const after = (await get(uuid)).messages;
  assert.ok(after.length >= messages.length);
  assert.deepEqual(after.slice(0, messages.length), messages);
  const head = await app.call(`/process/${uuid}/detections`, { method: "HEAD", headers: { api_key: user.username } });
  assert.deepEqual([head.status, await head.text()], [200, ""]);
});

test("the start of a process on a file is second 0 of its video", async () => {
  const uuid = await onFile.start();
  const { job } = await onFile.inside(uuid);
  let count = 0;
  await onFile.waitFor(uuid, ({ type }) => type === "message" && ++count >= 10);
  await onFile.supervisor.stop(user, uuid);
  const row = await onFile.row(uuid);
  assert.equal(job.epochMs, row?.startedAt?.getTime());
  const { messages } = await get(uuid);
  assert.ok(messages.length >= 10, `${messages.length}`);
  const second = (message: DetectionMessage | undefined) =>
    (Date.parse(message?.timestamp ?? "") - Number(job.epochMs)) / 1000;
  const [from, to] = [second(messages[3]), second(messages[7])];
  assert.deepEqual((await get(uuid, `?from=${from}&to=${to}`)).messages, messages.slice(3, 7));
  assert.deepEqual((await get(uuid, "?from=0")).messages, messages);
});

test("rejects processes of others, seconds of a live source, and ranges that end before they begin", async () => {
  const uuid = await live.start();
  for (const [target, key] of [
    [uuid, stranger.username],
    [newUuid(), user.username],
  ] as const) {
    const { status, problem } = await get(target, "", key);
    assert.deepEqual([status, problem.code], [404, "process_not_found"]);
  }
  for (const query of ["?from=5", "?from=yesterday", "?from=2026-05-17T08:00:00Z&to=2026-05-17T07:00:00Z", "?to=-1"]) {
    const { status, problem } = await get(uuid, query);
    assert.deepEqual([status, problem.code], [422, "invalid_input"], query);
  }
  const { messages } = await get(uuid, "?from=2030-01-01");
  assert.deepEqual(timesOf(messages), []);
  await live.supervisor.stop(user, uuid);
});

test("streams the stored positions of the camera, by time, to their owner only", async () => {
  const uuid = await live.start({ endAt: 2 });
  await live.ended(uuid);
  const sender = new Sender(uuid);
  detections.follow(sender);
  const cameras = [0, 10, 20].map((frame) => cameraAt(frame, uuid));
  for (const [index, camera] of cameras.entries()) {
    sender.sendCamera(camera);
    sender.send([{ ...sceneAt(index * 10, 1), process_uuid: uuid }]);
  }
  sender.notify({ type: "ended" });
  const check = new Ajv2020({ strict: true }).compile(CameraMessage);
  const read = async (query: string, key = user.username) => {
    const answer = await app.call(`/process/${uuid}/camera${query}`, { headers: { api_key: key } });
    const lines = (await answer.text()).split("\n").filter((line) => line !== "");
    return { status: answer.status, messages: lines.map((line) => JSON.parse(line)) };
  };
  const { messages } = await read("");
  assert.deepEqual(messages, cameras);
  for (const message of messages) assert.ok(check(message), JSON.stringify(check.errors));
  assert.deepEqual((await read(`?from=${cameras[1]?.timestamp}`)).messages, cameras.slice(1));
  assert.deepEqual((await read(`?to=${cameras[1]?.timestamp}`)).messages, cameras.slice(0, 1));
  assert.equal((await read("", stranger.username)).status, 404);
  assert.equal((await read("?from=7")).status, 422);
});

test("disconnects a client that reads nothing, and keeps little of the answer in memory", async () => {
  const uuid = await live.start({ endAt: 2 });
  await live.ended(uuid);
  const sender = new Sender(uuid);
  detections.follow(sender);
  const count = 4_000;
  for (let frame = 0; frame < count; frame += 1) {
    sender.send([{ ...sceneAt(frame, 10), process_uuid: uuid }]);
    if (frame % 1_000 === 0) await detections.flush();
  }
  sender.notify({ type: "ended" });
  await detections.flush();
  const range = `?from=${new Date(START_MS).toISOString()}&to=${new Date(START_MS + count * 100).toISOString()}`;
  const socket = connect(app.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(`GET /process/${uuid}/detections${range} HTTP/1.1\r\nHost: x\r\napi_key: ${user.username}\r\n\r\n`);
  await poll("the client is disconnected", () =>
    app.logged.some((line) => line.includes(uuid) && line.includes('"aborted":true')),
  );
  let received = 0;
  socket.on("data", (chunk) => {
    received += chunk.length;
  });
  socket.resume();
  await once(socket, "close");
  const { messages } = await get(uuid, range);
  assert.equal(messages.length, count);
  assert.ok(received < JSON.stringify(messages).length, `${received} bytes`);
});

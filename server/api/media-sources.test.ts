import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Client, insertProcess, openSourcesService, type SourcesService } from "../sources/sources.fixture.ts";

let service: SourcesService;
let ada: Client;
before(async () => {
  service = await openSourcesService({ NETWORK_DENY: "127.0.0.0/8" });
  ada = await service.addUser();
});
after(() => service?.close());

const stream = (input_url: string) => ({ alias: "yard", input_url, stream_type: input_url.slice(0, 4) });
const output = (path: string) => ({ alias: "out", type: "rtsp", url: `rtsp://${path}` });
const own = (path: string) => `rtsp://localhost:8554/${ada.user.username}/${path}`;

async function register(path: string) {
  const { status, body } = await ada.call("POST", "/stream", stream(own(path)));
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

test("registers a stream of the built-in media server whatever networks are denied, with its playback URLs", async () => {
  const body = await register("watched");
  assert.equal(body.input_url, own("watched"));
  assert.match(body.hls_url, new RegExp(`/source/${body.uuid}/hls/index\\.m3u8\\?token=.`));
  assert.match(body.webrtc_url, new RegExp(`/source/${body.uuid}/whep\\?token=.`));
  const other = await ada.call("POST", "/stream", stream("rtsp://192.0.2.1:8554/x"));
  assert.deepEqual([other.body.status, other.body.hls_url], ["unknown", undefined]);
});

test("the status of a source follows its stream and its process", async () => {
  const { uuid } = await register("followed");
  const statusOf = async () => (await ada.call("GET", `/source/${uuid}`)).body.status;
  assert.equal(await statusOf(), "offline");
  service.media.live.add(`${ada.user.username}/followed`);
  assert.equal(await statusOf(), "streaming");
  const listed = (await ada.call("GET", "/sources")).body.sources;
  assert.equal(listed.find((source: { uuid: string }) => source.uuid === uuid).status, "streaming");
  const process = await insertProcess(service.sql, ada.user.uuid, uuid, "running");
  assert.equal(await statusOf(), "processing");
  await service.sql`update processes set state = 'finished' where uuid = ${process}`;
  service.media.live.clear();
  assert.equal(await statusOf(), "offline");
});

test("rejects a path below another user's name, with the expected path", async () => {
  const eve = await service.addUser();
  const reply = await eve.call("POST", "/stream", stream(own("hers")));
  assert.deepEqual([reply.status, reply.body.errors[0].path], [422, "/input_url"]);
  assert.match(reply.body.detail, new RegExp(`expected rtsp://localhost:8554/${eve.user.username}/`));
});

test("a path belongs to a source or to an rtsp output, never to both, also when registered concurrently", async () => {
  await register("taken");
  const rejected = await ada.call("POST", "/output", output("taken"));
  assert.deepEqual([rejected.status, rejected.body.code], [409, "path_in_use"]);
  assert.equal((await ada.call("POST", "/output", output("processed"))).status, 201);
  const reverse = await ada.call("POST", "/stream", stream(own("processed")));
  assert.deepEqual([reverse.status, reverse.body.code], [409, "path_in_use"]);
  for (let round = 0; round < 5; round++) {
    const replies = await Promise.all([
      ada.call("POST", "/stream", stream(own(`raced-${round}`))),
      ada.call("POST", "/output", output(`raced-${round}`)),
    ]);
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 409]);
  }
  const eve = await service.addUser();
  assert.equal((await eve.call("POST", "/output", output("taken"))).status, 201, "paths of other users are separate");
});

test("a process plays it from the hub with its own token, which ends with the process", async () => {
  const path = `${ada.user.username}/played`;
  const { uuid } = await register("played");
  const input = await service.sources.resolveInput(ada.user.uuid, uuid);
  assert.equal(input.label, own("played"));
  await assert.rejects(input.locate(), { code: "source_not_live" });
  service.media.live.add(path);
  const url = new URL(await input.locate());
  assert.equal(await input.locate(), url.href, "resolved again, unchanged");
  assert.deepEqual([url.host, url.pathname], ["127.0.0.1:8554", `/${path}`]);
  assert.ok(service.media.tokens.allows(url.password, "play", path));
  input.release?.();
  assert.ok(!service.media.tokens.allows(url.password, "play", path));
  assert.doesNotMatch(input.label + input.uri, /run_/);
});

test("deleting the last source of a path disconnects its clients", async () => {
  const path = `${ada.user.username}/shared`;
  const first = await register("shared");
  const second = await ada.call("POST", "/stream", stream(`rtmp://localhost/${path}`));
  assert.equal(second.status, 201);
  await ada.call("DELETE", `/source/${first.uuid}`);
  assert.ok(!service.media.expelled.includes(path));
  await ada.call("DELETE", `/source/${second.body.uuid}`);
  assert.ok(service.media.expelled.includes(path));
});

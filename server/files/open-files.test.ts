/** Uploads over a real database and a real S3 server, on two nodes. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeFilm } from "../../native/film.fixture.ts";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { poll } from "../../test/watch.fixture.ts";
import { ServiceError } from "../service-error.ts";
import { openSourcesService } from "../sources/sources.fixture.ts";
import { TestS3 } from "./s3-server.fixture.ts";

const s3 = await TestS3.start();
after(() => s3.close());
const service = await openSourcesService(s3.variables);
after(() => service.close());
const { sql } = service;
const film = join(temporaryFolder(), "film.mp4");
await makeFilm(film, 30, false);

const ada = await service.addUser();
const other = await service.addNode();

async function upload(alias: string) {
  const form = new FormData();
  form.set("alias", alias);
  // Another file each time.
  form.set("file", new Blob([await readFile(film), alias]), "film.mp4");
  return ada.post("/video", form);
}

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of service.files?.store.list("") ?? []) found.push(key);
  return found;
}

const isCode = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;

test("an upload on one node can be used on another, which has the same content, until it is deleted", async () => {
  const { status, body } = await upload("shared");
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual(await keys(), [`videos/${body.uuid}.mp4`]);
  const content = Buffer.concat([await readFile(film), Buffer.from("shared")]);
  const paths: string[] = [];
  for (const { sources, dataDir } of [service, other]) {
    const input = await sources.resolveInput(ada.user.uuid, body.uuid);
    const path = await input.locate();
    assert.equal(path, join(dataDir, "videos", "cache", `${body.uuid}.mp4`));
    assert.ok((await readFile(path)).equals(content));
    input.release?.();
    paths.push(path);
  }
  assert.deepEqual(await service.listFiles(), [`${body.uuid}.mp4`], "nothing partial is left");
  // Deleted on the other node: the object is removed, and the copies with the next sweep of each node.
  await other.sources.remove(ada.user, body.uuid);
  await poll("the object is removed", async () => (await keys()).length === 0);
  await service.files?.sweep();
  assert.deepEqual(paths.map(existsSync), [false, false]);
  assert.equal((await sql`select from files`).count, 0);
  await assert.rejects(service.sources.resolveInput(ada.user.uuid, body.uuid), isCode("source_not_found"));
});

test("while the storage is unavailable uploads are rejected, and copies are used; files that exist nowhere are missing", async () => {
  const { body } = await upload("copied");
  await s3.stop();
  const rejected = await upload("away");
  assert.deepEqual([rejected.status, rejected.body.code], [503, "storage_unavailable"]);
  const again = await upload("again");
  assert.deepEqual([again.status, again.body.code], [503, "storage_unavailable"]);
  await assert.rejects(other.sources.resolveInput(ada.user.uuid, body.uuid), isCode("storage_unavailable"));
  await service.sources.resolveInput(ada.user.uuid, body.uuid);
  assert.deepEqual(await service.listFiles(), [`${body.uuid}.mp4`]);
  await s3.startAgain();
  await poll("uploads are accepted again", async () => (await upload("away")).status === 201);
  assert.notEqual(other.files?.trouble, null);
  await other.files?.sweep();
  assert.equal(other.files?.trouble, null, "a node that has nothing to store learns that the storage answers");
  await other.sources.resolveInput(ada.user.uuid, body.uuid);
  await service.files?.sweep();
  assert.equal((await keys()).length, 2);
  const third = await service.addNode();
  await service.files?.store.remove(`videos/${body.uuid}.mp4`);
  await assert.rejects(third.sources.resolveInput(ada.user.uuid, body.uuid), isCode("source_file_missing"));
});

test("an upload that is not registered leaves no object", async () => {
  const bob = await service.addUser({ sources: 0 });
  const form = new FormData();
  form.set("file", new Blob([await readFile(film), "bob"]), "film.mp4");
  const before = (await keys()).length;
  assert.equal((await bob.post("/video", form)).body.code, "sources_limit_reached");
  await service.files?.sweep();
  assert.equal((await keys()).length, before);
});

test("the objects of a deleted user are removed", async () => {
  assert.notEqual((await keys()).length, 0);
  await sql`delete from users where uuid = ${ada.user.uuid}`;
  await service.files?.sweep();
  assert.deepEqual(await keys(), []);
});

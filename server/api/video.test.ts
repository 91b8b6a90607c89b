import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeFilm, makeSound, withFolder } from "../../native/film.fixture.ts";
import { until } from "../../test/watch.fixture.ts";
import { FACTS, MARK } from "../sources/small-film.fixture.mjs";
import { type Client, insertProcess, openSourcesService, type SourcesService } from "../sources/sources.fixture.ts";

let service: SourcesService;
let ada: Client;
let clip: Buffer;

before(async () => {
  service = await openSourcesService({}, { idleMs: 3_000, stepBytes: 65_536 });
  ada = await service.addUser();
  clip = await withFolder(async (folder) => {
    await makeFilm(join(folder, "clip.mp4"), 20, false);
    return readFile(join(folder, "clip.mp4"));
  });
});
after(() => service?.close());

let count = 0;
/** The clip followed by bytes that players skip: valid, and different every time. Its probe need not decode it. */
function newClip(bytes = clip.length + 64, mark = MARK): Buffer {
  const box = Buffer.alloc(bytes - clip.length);
  box.writeUInt32BE(box.length, 0);
  box.write("free", 4);
  count += 1;
  box.writeUInt32BE(count, 8);
  box.write(mark, 12);
  return Buffer.concat([clip, box]);
}

function form(file: Buffer | string, name = "clip.mp4", fields: Readonly<Record<string, string>> = {}): FormData {
  const data = new FormData();
  for (const [field, value] of Object.entries(fields)) data.append(field, value);
  data.append("file", new Blob([file]), name);
  return data;
}

const storedOf = async (client: Client) =>
  (await service.sql`select file_name from sources where user_uuid = ${client.user.uuid} and type = 'file'`).map(
    ({ fileName }) => fileName,
  );

/** The files on disk are those in the database, and no storage is reserved. */
async function expectClean(): Promise<void> {
  const rows = await service.sql`select file_name from sources where type = 'file'`;
  assert.deepEqual([...(await service.listFiles())].sort(), rows.map(({ fileName }) => fileName).sort());
  const [{ reserved = -1 } = {}] = await service.sql`select count(*) as reserved from upload_reservations`;
  assert.equal(reserved, 0);
}

/** Waits for the clean-up after the client has disconnected. */
const untilClean = () =>
  until(() =>
    expectClean().then(
      () => true,
      () => false,
    ),
  );

/** An incomplete upload. */
async function sendPart(client: Client, declared: number | null, bytes: Buffer): Promise<Socket> {
  const socket = connect(service.app.port, "127.0.0.1");
  await once(socket, "connect");
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n';
  const length = declared === null ? "transfer-encoding: chunked" : `content-length: ${declared}`;
  socket.write(
    `POST /video HTTP/1.1\r\nhost: x\r\napi_key: ${client.user.username}\r\ncontent-type: multipart/form-data; boundary=b\r\n${length}\r\n\r\n`,
  );
  const body = Buffer.concat([Buffer.from(head), bytes]);
  if (declared === null) socket.write(`${body.length.toString(16)}\r\n`);
  socket.write(body);
  return socket;
}

/** Waits until the server has started to write the file. */
async function untilWriting(): Promise<void> {
  const kept = await service.sql`select file_name from sources where type = 'file'`;
  await until(async () => (await service.listFiles()).length > kept.length);
}

async function readAnswer(socket: Socket): Promise<string> {
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    answer += text;
  });
  socket.on("error", () => {});
  await once(socket, "close");
  return answer;
}

test("an upload that is rejected without its body gets no 100 Continue", async () => {
  const small = await service.addUser({ videoBytes: 1_000_000 });
  const head = (bytes: number, type = "multipart/form-data; boundary=b") =>
    `POST /video HTTP/1.1\r\nhost: x\r\napi_key: ${small.user.username}\r\ncontent-type: ${type}\r\ncontent-length: ${bytes}\r\nexpect: 100-continue\r\n\r\n`;
  for (const [text, status] of [
    [head(50_000_000), 413],
    [head(100, "video/mp4"), 415],
  ] as const) {
    const rejected = service.app.connectRaw().send(text);
    assert.match(await rejected.readHead(), new RegExp(`^HTTP/1\\.1 ${status} `));
    rejected.close();
  }
  const taken = service.app.connectRaw().send(head(100));
  assert.match(await taken.readHead(), /^HTTP\/1\.1 100 /);
  taken.close();
  await untilClean();
});

test("stores a video completely, with its file name as the alias, and deletes the file with it", async () => {
  const bytes = newClip(undefined, "");
  const { status, body } = await ada.post("/video", form(bytes, "Flight 7.MP4"));
  assert.equal(status, 201);
  assert.deepEqual(
    [body.alias, body.type, body.stream_type, body.input_url, body.status],
    ["Flight 7.MP4", "file", null, "Flight 7.MP4", "unknown"],
  );
  const input = await service.sources.resolveInput(ada.user.uuid, body.uuid);
  assert.equal(input.isFile, true);
  assert.ok(bytes.equals(await readFile(input.uri)));
  const [row] = await service.sql`select file_bytes, duration_ms from sources where uuid = ${body.uuid}`;
  assert.equal(row?.fileBytes, bytes.length);
  assert.ok(Math.abs(row?.durationMs - FACTS.duration_ms) < 100, row?.durationMs);
  assert.equal((await ada.call("DELETE", `/source/${body.uuid}`)).status, 200);
  await assert.rejects(readFile(input.uri), { code: "ENOENT" });
  await expectClean();
});

test("accepts fields in any order, and uses the client's alias", async () => {
  const behind = form(newClip(), "b.avi");
  behind.append("alias", "behind");
  const forms = [form(newClip(), "a.mov", { alias: "north gate" }), behind, form(newClip(), "c.mp4", { alias: "" })];
  const replies = await Promise.all(forms.map((data) => ada.post("/video", data)));
  assert.deepEqual(
    replies.map(({ status, body }) => [status, body.alias, body.input_url]),
    [
      [201, "north gate", "a.mov"],
      [201, "behind", "b.avi"],
      [201, "c.mp4", "c.mp4"],
    ],
  );
});

test("rejects unknown fields with a suggestion, and stores nothing", async () => {
  const behind = form(newClip(), "b.avi");
  behind.append("alais", "behind");
  for (const data of [behind, form(newClip(), "a.mp4", { alais: "before" })]) {
    const { status, body } = await ada.post("/video", data);
    assert.deepEqual([status, body.errors[0].path], [422, "alais"]);
    assert.match(body.detail, /is not a field of this form; expected file, alias, .*; did you mean "alias"\?/);
  }
  await expectClean();
});

test("a video with `loop` is a source of its own, and live", async () => {
  const bytes = newClip();
  const once = await ada.post("/video", form(bytes, "a.mp4", { loop: "false" }));
  const behind = form(bytes, "a.mp4");
  behind.append("loop", "true");
  const looped = await ada.post("/video", behind);
  assert.deepEqual([once.status, once.body.loop, looped.status, looped.body.loop], [201, false, 201, true]);
  assert.equal(looped.body.type, "file");
  const again = await ada.post("/video", form(bytes, "b.mp4", { loop: "true" }));
  assert.deepEqual([again.status, again.body.uuid], [200, looped.body.uuid]);
  const { isFile, loops } = await service.sources.resolveInput(ada.user.uuid, looped.body.uuid);
  assert.deepEqual([isFile, loops], [false, true]);
  const wrong = await ada.post("/video", form(bytes, "a.mp4", { loop: "yes" }));
  assert.deepEqual([wrong.status, wrong.body.errors[0].path], [422, "loop"]);
  await expectClean();
});

test("accepts the file in a part of any name", async () => {
  const data = new FormData();
  data.append("video", new Blob([newClip()]), "a.mp4");
  data.append("alias", "gate");
  const { status, body } = await ada.post("/video", data);
  assert.deepEqual([status, body.alias, body.input_url], [201, "gate", "a.mp4"]);
});

test("returns the existing video for the same bytes, also concurrently and at the source limit", async () => {
  const eve = await service.addUser({ sources: 1 });
  const bytes = newClip();
  const replies = await Promise.all([1, 2, 3].map((i) => eve.post("/video", form(bytes, `${i}.mp4`))));
  assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 200, 201]);
  assert.equal(new Set(replies.map(({ body }) => body.uuid)).size, 1);
  assert.equal((await eve.post("/video", form(bytes, "x.mp4"))).status, 200);
  const other = await eve.post("/video", form(newClip(), "x.mp4"));
  assert.deepEqual([other.status, other.body.code], [403, "sources_limit_reached"]);
  await expectClean();
});

test("rejects a video that is too large, by its length or while it arrives", async () => {
  const eve = await service.addUser({ videoBytes: clip.length + 100 });
  const socket = await sendPart(eve, 500 * 2 ** 20, Buffer.alloc(1000));
  const early = await readAnswer(socket);
  assert.match(early, /^HTTP\/1.1 413 .*video_too_large/s);
  const late = await eve.post("/video", form(newClip(clip.length + 101)));
  assert.deepEqual([late.status, late.body.code], [413, "video_too_large"]);
  assert.equal((await eve.post("/video", form(newClip(clip.length + 100)))).status, 201);
  await expectClean();
});

test("fills the storage of a user to the byte, and not beyond", async () => {
  const eve = await service.addUser({ storageBytes: 2 * clip.length + 400_000 });
  const first = newClip(clip.length + 200_000);
  assert.equal((await eve.post("/video", form(first))).status, 201);
  const over = await eve.post("/video", form(newClip(clip.length + 200_001)));
  assert.deepEqual([over.status, over.body.code], [413, "storage_limit_reached"]);
  assert.equal((await eve.post("/video", form(newClip(clip.length + 200_000)))).status, 201);
  const full = await eve.post("/video", form(newClip()));
  assert.deepEqual([full.status, full.body.code], [413, "storage_limit_reached"]);
  assert.equal((await eve.post("/video", form(first))).status, 200, "an existing file needs no space");
  await expectClean();
});

test("one of several uploads that compete for the last space wins, with or without a length", async () => {
  const size = clip.length + 300_000;
  const eve = await service.addUser({ storageBytes: 2 * size - 1 });
  const replies = await Promise.all(
    [newClip(size), newClip(size), newClip(size)].map((bytes) => eve.post("/video", form(bytes))),
  );
  assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 413, 413]);
  const sockets = await Promise.all([sendPart(eve, null, newClip(size + 1)), sendPart(eve, null, newClip(size + 1))]);
  for (const answer of await Promise.all(sockets.map(readAnswer))) assert.match(answer, /storage_limit_reached/);
  assert.equal((await storedOf(eve)).length, 1);
  await expectClean();
});

test("an upload that its client aborts leaves nothing", async () => {
  for (const declared of [10 * 2 ** 20, null]) {
    const socket = await sendPart(ada, declared, Buffer.alloc(300_000, 1));
    await untilWriting();
    socket.destroy();
    await untilClean();
  }
});

test("an upload is written to disk as it arrives", async () => {
  const bytes = 8 * 2 ** 20;
  const socket = await sendPart(ada, 8 * bytes, Buffer.alloc(bytes, 1));
  // What is not written yet is in the buffers of the connection and of the parser.
  await until(async () => {
    // So that it does not stall, however slow the machine is.
    socket.write(Buffer.alloc(65_536));
    return (await service.largestFile()) > bytes - 2 ** 20;
  });
  socket.destroy();
  await untilClean();
});

test("an upload that stalls is aborted and leaves nothing", async () => {
  const socket = await sendPart(ada, 10 * 2 ** 20, Buffer.alloc(300_000, 1));
  assert.match(await readAnswer(socket), /^HTTP\/1.1 408 .*request_timeout/s);
  await expectClean();
});

test("an upload that is too slow is aborted and leaves nothing", async () => {
  const socket = await sendPart(ada, 10 * 2 ** 20, Buffer.alloc(100_000, 1));
  const answer = readAnswer(socket);
  let sent = 0;
  // For many times the stall limit; then the client disconnects.
  const trickle = setInterval(() => {
    sent += 1;
    if (sent > 300) socket.destroy();
    else if (socket.writable) socket.write(Buffer.alloc(10, 1));
  }, 100);
  try {
    assert.match(await answer, /^HTTP\/1.1 408 .*request_timeout/s);
    assert.ok(sent > 0);
  } finally {
    clearInterval(trickle);
  }
  await untilClean();
});

const PART = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n';
const MULTIPART = { "content-type": "multipart/form-data; boundary=b" };
const BROKEN: readonly (readonly [
  why: string,
  body: string,
  headers: Record<string, string>,
  status: number,
  code: string,
])[] = [
  ["another media type", "{}", { "content-type": "application/json" }, 415, "media_type_unsupported"],
  [
    "a form of another media type",
    "a=b",
    { "content-type": "application/x-www-form-urlencoded" },
    415,
    "media_type_unsupported",
  ],
  ["no boundary", "x", { "content-type": "multipart/form-data" }, 400, "malformed_request"],
  ["a body that ends within the file", `${PART}abc`, MULTIPART, 400, "malformed_request"],
  [
    "a body that ends within an ignored field",
    '--b\r\ncontent-disposition: form-data; name="other"\r\n\r\nabc',
    MULTIPART,
    400,
    "malformed_request",
  ],
  ["a body that is not a form", "nothing", MULTIPART, 400, "malformed_request"],
  ["an empty body", "", MULTIPART, 400, "malformed_request"],
  [
    "a form without a file",
    '--b\r\ncontent-disposition: form-data; name="alias"\r\n\r\nx\r\n--b--\r\n',
    MULTIPART,
    422,
    "invalid_input",
  ],
  ["two files", `${PART}a\r\n${PART}b\r\n--b--\r\n`, MULTIPART, 422, "invalid_input"],
  [
    "two files of different names",
    `${PART}a\r\n${PART.replace('"file"', '"other"')}b\r\n--b--\r\n`,
    MULTIPART,
    422,
    "invalid_input",
  ],
  ["a file without a name", `${PART.replace('; filename="a.mp4"', "")}a\r\n--b--\r\n`, MULTIPART, 422, "invalid_input"],
];
for (const [why, body, headers, status, code] of BROKEN) {
  test(`POST /video rejects ${why}`, async () => {
    const reply = await ada.post("/video", Buffer.from(body), headers);
    assert.deepEqual([reply.status, reply.body.code], [status, code]);
    await expectClean();
  });
}

test("rejects endless fields beside the file", async () => {
  const data = new FormData();
  data.append("alias", "x".repeat(4 * 2 ** 20));
  data.append("file", new Blob([clip]), "a.mp4");
  const reply = await ada.post("/video", data);
  assert.deepEqual([reply.status, reply.body.code], [413, "body_too_large"]);
  await expectClean();
});

for (const name of ["clip.flv", "clip", "mp4", "clip.mp4.exe", "clip.mp4\u0000.png", ".."]) {
  test(`POST /video rejects a file named ${JSON.stringify(name)}`, async () => {
    const reply = await ada.post("/video", form(newClip(), name));
    assert.deepEqual([reply.status, reply.body.code], [422, "invalid_input"]);
    assert.equal(reply.body.errors[0].path, "file");
    await expectClean();
  });
}

test("a file name with `..` is shown without its folders and never used as a path", async () => {
  const { status, body } = await ada.post("/video", form(newClip(), "../../../etc/наш фильм.avi"));
  assert.deepEqual([status, body.alias, body.input_url], [201, "наш фильм.avi", "наш фильм.avi"]);
  await expectClean();
});

test("rejects an alias with control characters or of excessive length", async () => {
  for (const alias of ["a\u0001b", "x".repeat(256), "x".repeat(10_000)]) {
    const reply = await ada.post("/video", form(newClip(), "a.mp4", { alias }));
    assert.deepEqual([reply.status, reply.body.code, reply.body.errors[0].path], [422, "invalid_input", "alias"]);
  }
  await expectClean();
});

test("rejects a file that is not a video with the reason, and stores nothing", async () => {
  const sound = await withFolder(async (folder) => {
    await makeSound(join(folder, "sound.mp4"));
    return readFile(join(folder, "sound.mp4"));
  });
  const cases = [
    ["PK\x03\x04not a video", /ZIP archive/],
    ["just some text, no video at all", /text file/],
    ["", /expected an mp4/],
    [clip.subarray(0, clip.indexOf("moov") + 100), /damaged/],
    [sound, /no video/],
  ] as const;
  const refuse = async ([bytes, reason]: (typeof cases)[number]): Promise<void> => {
    const reply = await (await service.addUser()).post("/video", form(bytes as Buffer));
    assert.deepEqual([reply.status, reply.body.code], [422, "video_invalid"]);
    assert.deepEqual([reply.body.errors.length, reply.body.errors[0].path], [1, "file"]);
    assert.match(reply.body.detail, reason);
    assert.doesNotMatch(reply.body.detail, /videos|partial|tmp/);
  };
  await Promise.all(cases.map(refuse));
  await expectClean();
});

test("uploads over the concurrency limit of a key get 429", async () => {
  const eve = await service.addUser();
  const sockets = await Promise.all([1, 2, 3, 4].map(() => sendPart(eve, 2 ** 20, Buffer.alloc(1000))));
  await untilWriting();
  let reply = await eve.post("/video", form(newClip()));
  while (reply.status === 201) reply = await eve.post("/video", form(newClip()));
  assert.deepEqual([reply.status, reply.body.code], [429, "rate_limited"]);
  for (const socket of sockets) socket.destroy();
  await untilClean();
});

test("a video that a process uses is neither deleted nor damaged", async () => {
  const { body } = await ada.post("/video", form(newClip()));
  await insertProcess(service.sql, ada.user.uuid, body.uuid, "running");
  assert.equal((await ada.call("DELETE", `/source/${body.uuid}`)).status, 409);
  assert.ok((await readFile((await service.sources.resolveInput(ada.user.uuid, body.uuid)).uri)).length > 0);
});

test("a source whose file is missing reports it when it is used", async () => {
  const { body } = await ada.post("/video", form(newClip()));
  const { uri } = await service.sources.resolveInput(ada.user.uuid, body.uuid);
  await rm(uri);
  await assert.rejects(service.sources.resolveInput(ada.user.uuid, body.uuid), { code: "source_file_missing" });
  assert.equal((await ada.call("DELETE", `/source/${body.uuid}`)).status, 200);
});

test("a start cleans up what a crash left", async () => {
  const { body } = await ada.post("/video", form(newClip()));
  const { uri } = await service.sources.resolveInput(ada.user.uuid, body.uuid);
  const bytes = await readFile(uri);
  const name = uri.split("/").at(-1) ?? "";
  const videos = join(service.dataDir, "videos");
  await rm(uri);
  await mkdir(join(videos, "partial"), { recursive: true });
  await writeFile(join(videos, "partial", name), bytes);
  await writeFile(join(videos, "partial", "half.mp4"), "half");
  await writeFile(join(videos, "stray.mp4"), "stray");
  await service.reopen();
  assert.ok(bytes.equals(await readFile(uri)), "registered, but not moved yet");
  await expectClean();
});

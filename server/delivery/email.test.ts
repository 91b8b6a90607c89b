/** Mails through a real SMTP server that accepts, rejects, hangs, and is down for a while. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import type { Target } from "../store/destinations.ts";
import { countMails } from "../store/mail-counts.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { newUuid } from "../uuid.ts";
import type { MailPart } from "./mail.ts";
import { readMailServer } from "./mail-server.ts";
import { addDestination, addUser, openOutbox, range, type Settings, statusOf } from "./outbox.fixture.ts";
import type { Outbox } from "./outbox.ts";
import { type MailBox, openMailBox, PASSWORD, USER } from "./smtp.fixture.ts";

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());

const emailTarget = (to: readonly string[], spacingMs = 0): Target => ({ kind: "email", to, spacingMs });
const urlOf = (port: number, scheme = "smtp"): string =>
  `${scheme}://${USER}:${encodeURIComponent(PASSWORD)}@localhost:${port}`;
const settingsOf = (url: string, more: Settings = {}): Settings => ({
  ...{ SMTP_URL: url, SMTP_FROM: "Windhover <alerts@example.org>", ...more },
});

async function open(box: MailBox, more: Settings = {}): Promise<{ readonly outbox: Outbox; readonly user: string }> {
  const outbox = await openOutbox(database.sql, settingsOf(urlOf(box.port), more), { authorities: box.authority });
  return { outbox, user: await addUser(database.sql) };
}

/** Resolves with the ids of the notices. */
async function notify(outbox: Outbox, uuid: string, parts: readonly Partial<MailPart>[]): Promise<readonly string[]> {
  const deliveries = parts.map((part, at) => ({
    ...{ id: newUuid(), destinationUuid: uuid },
    body: JSON.stringify({ timestamp: `2026-05-17T10:00:${at % 60}Z`, subject: "gate", text: "crossed", ...part }),
  }));
  await database.sql.begin((tx) => outbox.enqueue(tx, deliveries));
  outbox.wake();
  return deliveries.map(({ id }) => id);
}

const numbered = (from: number, to: number) => range(from, to).map((number) => ({ text: `event ${number}` }));
const waitingOf = async (uuid: string) => (await statusOf(database.sql, uuid)).waiting;
const settled = (uuid: string) => eventually(async () => (await waitingOf(uuid)) === 0, "nothing waits");

test("sends a mail by STARTTLS with a login, in UTF-8, with an id made from that of the notice", async () => {
  const box = await openMailBox();
  const { outbox, user } = await open(box);
  const uuid = await addDestination(database.sql, user, emailTarget(["ada@example.org", "bob@example.net"]));
  const subject = "Tür 3 — 人が通過: triggered";
  const [id] = await notify(outbox, uuid, [{ subject, text: "Ein Mann läuft\n.\nhttps://example.org/clip?a=1&b=2" }]);
  await eventually(() => box.received.length === 1, "the mail arrives");
  const [mail] = box.received;
  assert.deepEqual([mail?.to, mail?.isEncrypted, mail?.user], [["ada@example.org", "bob@example.net"], true, USER]);
  assert.equal(mail?.headers.get("subject"), subject);
  assert.equal(mail?.headers.get("message-id"), `<${id}@example.org>`);
  assert.equal(mail?.headers.get("from"), "Windhover <alerts@example.org>");
  assert.equal(mail?.headers.get("to"), "ada@example.org, bob@example.net");
  assert.equal(mail?.headers.get("auto-submitted"), "auto-generated");
  assert.equal(mail?.text.trimEnd(), "Ein Mann läuft\n.\nhttps://example.org/clip?a=1&b=2");
  await settled(uuid);
  assert.deepEqual([(await statusOf(database.sql, uuid)).delivered, box.received.length], [1, 1]);
});

test("no text becomes another header", async () => {
  const box = await openMailBox();
  const { outbox, user } = await open(box);
  const uuid = await addDestination(database.sql, user, emailTarget(["ada@example.org"]));
  await notify(outbox, uuid, [{ subject: "gate\r\nBcc: eve@example.org\r\n\r\nhello", text: "\r\n.\r\nQUIT\r\n" }]);
  await eventually(() => box.received.length === 1, "the mail arrives");
  const [mail] = box.received;
  assert.deepEqual([mail?.to, mail?.headers.has("bcc")], [["ada@example.org"], false]);
  assert.match(mail?.headers.get("subject") ?? "", /^gate\s+Bcc: eve@example.org\s+hello$/);
});

test("a storm becomes few mails that say how many notices they leave out, and no notice is lost", async () => {
  const box = await openMailBox();
  const { outbox, user } = await open(box);
  const uuid = await addDestination(database.sql, user, emailTarget(["ada@example.org"], 3_600_000));
  await notify(outbox, uuid, [{ text: "the first" }]);
  await settled(uuid);
  assert.equal(box.received.length, 1, "the first mail is sent at once");
  await notify(outbox, uuid, numbered(1, 3));
  await notify(outbox, uuid, numbered(4, 5000));
  assert.deepEqual([await waitingOf(uuid), box.received.length], [5000, 1]);
  // The interval is over. More than once: the outbox may be about to write the time that it has read before.
  await eventually(async () => {
    await database.sql`
      update destinations set last_delivered_at = now() - interval '61 minutes', wake_at = now()
      where uuid = ${uuid} and node_uuid is null`;
    outbox.wake();
    return (await waitingOf(uuid)) === 0;
  }, "nothing waits");
  assert.equal(box.received.length, 2);
  const { headers, text } = box.received[1] ?? assert.fail();
  assert.equal(headers.get("subject"), "(5000) gate");
  assert.match(text, /^5000 notifications from 2026-05-17T10:00:0Z to /);
  assert.match(text, /event 20\n(?!.*event 21)/s);
  assert.match(text, /4980 further notifications are left out of this mail\. GET \/notices lists all\./);
  const { delivered, dropped } = await statusOf(database.sql, uuid);
  assert.deepEqual([delivered, dropped], [5001, 0]);
});

test("a key that has reached its limit waits, and others do not", async () => {
  const box = await openMailBox();
  const { outbox, user } = await open(box, { SMTP_RECIPIENTS_PER_HOUR: "3" });
  const other = await addUser(database.sql);
  const uuid = await addDestination(database.sql, user, emailTarget(["a@example.org", "b@example.org"]));
  for (const number of [1, 2]) {
    await notify(outbox, uuid, [{ text: `event ${number}` }]);
    await settled(uuid);
  }
  await notify(outbox, uuid, [{ text: "event 3" }]);
  await eventually(async () => (await statusOf(database.sql, uuid)).lastError !== null, "the limit is reported");
  assert.match((await statusOf(database.sql, uuid)).lastError ?? "", /limit of this key is reached \(3 recipients per/);
  const free = await addDestination(database.sql, other, emailTarget(["c@example.org"]));
  await notify(outbox, free, [{}]);
  await settled(free);
  assert.deepEqual([box.received.length, await waitingOf(uuid)], [3, 1]);
  // The hour is over.
  await database.sql`update mail_counts set since = now() - interval '61 minutes' where user_uuid = ${user}`;
  await database.sql`update destinations set wake_at = now() where uuid = ${uuid}`;
  outbox.wake();
  await settled(uuid);
  assert.equal(box.received.at(-1)?.text.trim(), "event 3");
  await countMails(database.sql, user, 5);
  const [{ amount = 0 } = {}] = await database.sql<{ amount: number }[]>`
    select amount from mail_counts where user_uuid = ${user}`;
  assert.equal(amount, 7);
});

test("drops a mail that the server will never accept, and sends the next", async () => {
  const box = await openMailBox();
  box.answers = { data: (earlier) => (earlier === 0 ? 554 : undefined) };
  const { outbox, user } = await open(box);
  const uuid = await addDestination(database.sql, user, emailTarget(["ada@example.org"]));
  await notify(outbox, uuid, [{ text: "spam" }]);
  await eventually(async () => (await statusOf(database.sql, uuid)).dropped === 1, "it is dropped");
  assert.match((await statusOf(database.sql, uuid)).lastError ?? "", /^mail server: .*554/);
  await notify(outbox, uuid, [{ text: "ham" }]);
  await settled(uuid);
  assert.deepEqual(
    box.received.map(({ text }) => text.trim()),
    ["ham"],
  );
});

test("a temporary rejection is retried, for the recipient that lacks the mail only", async () => {
  const box = await openMailBox();
  const codes: Readonly<Record<string, number>> = { "grey@example.org": 451, "gone@example.org": 550 };
  box.answers = {
    recipient: (address, earlier) => (earlier < 2 || codes[address] === 550 ? codes[address] : undefined),
  };
  const { outbox, user } = await open(box);
  const to = ["ada@example.org", "grey@example.org", "gone@example.org"];
  const uuid = await addDestination(database.sql, user, emailTarget(to));
  await notify(outbox, uuid, [{ text: "one" }]);
  await settled(uuid);
  assert.deepEqual(
    box.received.map((mail) => mail.to),
    [["ada@example.org"], ["grey@example.org"]],
  );
  const ids = box.received.map(({ headers }) => headers.get("message-id"));
  assert.equal(ids[0], ids[1]);
  assert.deepEqual(
    [(await statusOf(database.sql, uuid)).delivered, (await statusOf(database.sql, uuid)).dropped],
    [1, 0],
  );
});

test("drops a mail that all recipients reject for good", async () => {
  const box = await openMailBox();
  box.answers = { recipient: () => 550 };
  const { outbox, user } = await open(box);
  const uuid = await addDestination(database.sql, user, emailTarget(["gone@example.org"]));
  await notify(outbox, uuid, [{}]);
  await eventually(async () => (await statusOf(database.sql, uuid)).dropped === 1, "it is dropped");
  assert.match((await statusOf(database.sql, uuid)).lastError ?? "", /^gone@example.org: mail server: .*550/);
});

test("a server that is down gets all mails when it is back, in one and in order", async () => {
  const box = await openMailBox();
  const { outbox, user } = await open(box);
  const uuid = await addDestination(database.sql, user, emailTarget(["ada@example.org"]));
  await box.stop();
  await notify(outbox, uuid, numbered(1, 3));
  await eventually(async () => (await statusOf(database.sql, uuid)).lastError !== null, "the error is reported");
  assert.equal((await statusOf(database.sql, uuid)).lastError, "mail server: nothing listens there");
  await box.start();
  await settled(uuid);
  assert.deepEqual(
    [
      ...box.received
        .map(({ text }) => text)
        .join("\n")
        .matchAll(/event (\d)/g),
    ].map(([, number]) => number),
    ["1", "2", "3"],
  );
});

test("a mail whose acceptance is lost is sent again with the same id", async () => {
  const box = await openMailBox();
  box.answers = { data: (earlier) => (earlier === 0 ? "lost" : undefined) };
  const { outbox, user } = await open(box);
  const uuid = await addDestination(database.sql, user, emailTarget(["ada@example.org"]));
  const [id] = await notify(outbox, uuid, [{}]);
  await eventually(() => box.received.length === 1, "it is received once");
  await notify(outbox, uuid, [{ text: "the next" }]);
  await box.start();
  await settled(uuid);
  const ids = box.received.map(({ headers }) => headers.get("message-id"));
  assert.deepEqual(ids.slice(0, 2), [`<${id}@example.org>`, `<${id}@example.org>`]);
  assert.deepEqual([ids.length, box.received[2]?.text.trim()], [3, "the next"]);
});

test("a server that hangs costs its time limit, and the mail waits", async () => {
  const box = await openMailBox();
  box.answers = { data: (earlier) => (earlier === 0 ? "hang" : undefined) };
  const { outbox, user } = await open(box, { SMTP_SECONDS: "1" });
  const uuid = await addDestination(database.sql, user, emailTarget(["ada@example.org"]));
  await notify(outbox, uuid, [{}]);
  await settled(uuid);
  assert.equal(box.received.length, 1);
  // It accepts connections and says nothing.
  const silent = createServer((socket) => void socket.on("error", () => {}).resume());
  silent.listen(0, "localhost");
  await once(silent, "listening");
  after(() => silent.close());
  const mute = await openOutbox(
    database.sql,
    settingsOf(urlOf((silent.address() as AddressInfo).port), { SMTP_SECONDS: "1" }),
    { limits: { lookMs: 60_000 } },
  );
  const target = emailTarget(["ada@example.org"]);
  const sent = { id: newUuid(), body: JSON.stringify({ timestamp: "", subject: "a", text: "b" }) };
  const result = await mute.attempt({ uuid: newUuid(), userUuid: user, target }, sent);
  assert.match(result.detail, /did not answer within 1 s|does not answer/);
});

test("requires TLS with a valid certificate unless the operator says otherwise, and never shows the password", async () => {
  const [box, plain, secure] = [
    await openMailBox(),
    await openMailBox({ hasTls: false }),
    await openMailBox({ isSecure: true }),
  ];
  const user = await addUser(database.sql);
  const attempt = async (settings: Settings, authorities?: string) => {
    const more = { limits: { lookMs: 60_000 }, ...(authorities !== undefined && { authorities }) };
    const outbox = await openOutbox(database.sql, settings, more);
    const sent = { id: newUuid(), body: JSON.stringify({ timestamp: "", subject: "a", text: "b" }) };
    const target = emailTarget(["ada@example.org"]);
    const { delivered, detail } = await outbox.attempt({ uuid: newUuid(), userUuid: user, target }, sent);
    assert.doesNotMatch(detail, /p@ss|p%40ss/);
    return delivered ? "delivered" : detail;
  };
  assert.match(await attempt(settingsOf(urlOf(box.port))), /its certificate is self-signed/);
  assert.match(await attempt(settingsOf(urlOf(plain.port))), /TLS failed|STARTTLS/);
  assert.equal(await attempt(settingsOf(urlOf(plain.port), { SMTP_STARTTLS: "offered" })), "delivered");
  assert.equal(await attempt(settingsOf(urlOf(plain.port), { SMTP_STARTTLS: "never" })), "delivered");
  assert.equal(await attempt(settingsOf(urlOf(secure.port, "smtps")), secure.authority), "delivered");
  assert.deepEqual(
    [box.received.length, ...plain.received.map((mail) => mail.isEncrypted), secure.received[0]?.isEncrypted],
    [0, false, false, true],
  );
  const wrong = `smtp://${USER}:wrong@localhost:${box.port}`;
  assert.equal(
    await attempt(settingsOf(wrong), box.authority),
    "mail server: it rejects the login of this service (smtp.url)",
  );
});

test("reads the settings of the mail server", () => {
  const read = (url: string | null, from: string | null) => {
    const server = readMailServer({ url, from });
    return server === null || typeof server === "string"
      ? server
      : [server.host, server.port, server.isSecure, server.credentials?.pass, server.from.name, server.from.address];
  };
  assert.equal(read(null, null), null);
  assert.deepEqual(read("smtp://mail.example", "a@b.example"), [
    ...["mail.example", 587, false, undefined, "", "a@b.example"],
  ]);
  assert.deepEqual(read("smtps://u:p%40%3A1:2@[::1]:2465/", "Hall 3 <a@b.example>"), [
    ...["::1", 2465, true, "p@:1:2", "Hall 3", "a@b.example"],
  ]);
  assert.match(String(read("http://mail.example", "a@b.example")), /^smtp\.url expects smtp:/);
  assert.match(String(read("smtp://mail.example/x", "a@b.example")), /^smtp\.url expects smtp:/);
  assert.match(String(read("smtp://u:%@mail.example", "a@b.example")), /^smtp\.url has a %/);
  for (const from of [null, "", "nobody", "a@b\r\nBcc: c@d", "<a@b"])
    assert.match(String(read("smtp://mail.example", from)), /^smtp\.from expects/);
});

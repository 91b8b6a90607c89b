/** The media server with real clients: killed, with failing publishers, with many misbehaving clients, over a long time. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { poll } from "../watch.fixture.ts";
import { Crowd, HABITS } from "./crowd.fixture.ts";
import { makeLoop, type Player, type PlayerKind, type Publisher } from "./media-clients.fixture.ts";
import { filesOf, MediaStage, measureSlowness, median, rssOf } from "./media-stage.fixture.ts";
import { progress, rounds } from "./rounds.fixture.ts";

const TIMEOUT_MS = rounds(240_000, 3_000_000);
/** Short in `npm test`, which waits for it. */
const FROZEN_SECONDS = rounds(2, 5);

let stage: MediaStage;
before(async () => {
  stage = await MediaStage.open({
    WINDHOVER_MEDIA_FROZEN_SECONDS: String(FROZEN_SECONDS),
    WINDHOVER_RECORDINGS_SEGMENT_SECONDS: "60",
  });
});
after(() => stage?.close());

/** Resolves when every player has received more pictures. */
async function moves(what: string, players: readonly Player[], more = 10): Promise<void> {
  const goals = players.map(({ pictures }) => pictures + more);
  const waiting = () => players.filter(({ pictures }, i) => pictures < (goals[i] ?? 0));
  await poll(`${what}: pictures arrive`, () => waiting().length === 0).catch((error: Error) => {
    throw new Error(`${error.message}\n${waiting().map(String).join("\n")}`);
  });
}

/** Asserts a time limit, scaled by the slowness of the machine. */
async function assertWithin(t: TestContext, what: string, tookMs: number, limitMs: number): Promise<void> {
  const slowness = await measureSlowness();
  t.diagnostic(`${what}: ${tookMs.toFixed(0)} ms of ${limitMs} ms, on a machine ${slowness.toFixed(1)} times as slow`);
  assert.ok(tookMs <= limitMs * slowness, `${what}: ${tookMs} ms, and ${limitMs} ms are allowed, times ${slowness}`);
}

test("a killed hub restarts at once: no process restarts, clients reconnect, at most a second of the recording is lost", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  t.after(() => stage.clear());
  const ways = [
    { path: "killed/one", by: "rtsp", other: "rtmp" },
    { path: "killed/two", by: "rtmp", other: "rtsp" },
  ] as const;
  const lanes = await Promise.all(
    ways.map(async ({ path, by, other }) => {
      const source = await stage.register(by, path);
      const publisher = stage.publish(by, path);
      await stage.awaitStatus(source, "streaming");
      // The status of a processed source stays "processing"; this source of the same stream shows whether it is live.
      const shown = await stage.register(other, path);
      const running = await stage.startProcess(source);
      const players = [stage.play("ffmpeg", path), stage.play("gst", path)];
      return { source, shown, publisher, running, players };
    }),
  );
  const players = lanes.flatMap((lane) => lane.players);
  const runners = stage.runnerPids;
  const total = rounds(1, 10);
  for (let round = 0; round < total; round++) {
    await moves("before", players);
    const open = await Promise.all(
      lanes.map(({ source, shown, publisher }) =>
        poll("two seconds are recorded", async () => {
          const recordings = [...(await stage.recordingsOf(source)), ...(await stage.recordingsOf(shown))];
          const found = recordings.find(({ stopped_at }) => stopped_at === null);
          return found !== undefined && publisher.sentSeconds > 2 && found;
        }),
      ),
    );
    const followed = await Promise.all(lanes.map(({ shown }) => stage.followStatus(shown)));
    const starts = players.map((player) => player.starts);
    const backMs = await stage.killHub();
    // The delay doubles with every crash within a minute.
    await assertWithin(t, "restart of the hub", backMs, 2000 + Math.min(10_000, 100 * 2 ** round));

    for (const { shown } of lanes) await stage.awaitStatus(shown, "streaming");
    await moves("after", players);
    for (const [i, player] of players.entries())
      assert.ok(player.starts > (starts[i] as number), "the player was disconnected and reconnected");
    for (const { running } of lanes) {
      await poll("the process is connected", async () => !(await stage.info(running)).reconnecting);
      await running.detections.next(10);
      const { state, error, stats } = await stage.info(running);
      assert.deepEqual([state, error, stats.restarts], ["running", null, 0]);
    }
    for (const pid of runners) assert.ok(stage.runnerPids.includes(pid), `runner ${pid} has exited`);
    for (const stop of followed) assert.deepEqual(await stop(), ["streaming", "offline", "streaming"]);

    for (const [i, { source, shown, publisher }] of lanes.entries()) {
      const recording = open[i] ?? assert.fail();
      const owner = recording.source_uuid === source.uuid ? source : shown;
      const closed = await stage.awaitClosed(owner, recording.uuid);
      const { seconds, pictures } = await stage.probe(closed);
      const sentSeconds = publisher.lastSentSeconds;
      const lostSeconds = sentSeconds - pictures / 25;
      t.diagnostic(`${lostSeconds.toFixed(2)} s of ${sentSeconds.toFixed(2)} s are missing in the recording`);
      assert.ok(lostSeconds > -0.5, `${pictures} pictures are recorded of ${sentSeconds} s`);
      assert.ok(lostSeconds <= 1, `${lostSeconds} s of the recording are lost`);
      assert.ok(Math.abs(seconds - pictures / 25) < 0.1, `${seconds} s for ${pictures} pictures`);
      assert.ok(
        Math.abs(seconds - closed.duration_seconds) < 0.1,
        `${seconds} s, reported as ${closed.duration_seconds}`,
      );
    }
    progress("killed hubs", round + 1, total);
  }
  await stage.service.expect(200, "DELETE", "/processes");
});

interface Lane {
  readonly source: SourceRecord;
  readonly publisher: Publisher;
  readonly player: Player;
}

/** Interrupts the publisher, checks the consequences, and resumes publisher and player. */
async function interrupt(t: TestContext, { source, publisher, player }: Lane, how: "killed" | "frozen"): Promise<void> {
  await stage.awaitStatus(source, "streaming");
  const open = await poll("it is recorded", async () => {
    const found = (await stage.recordingsOf(source)).find(({ stopped_at }) => stopped_at === null);
    return found !== undefined && found;
  });
  await moves(`before it is ${how}`, [player]);
  for (const client of [publisher, player]) client.rest();
  const ended = [publisher.ended(), player.ended()];
  publisher.signal(how === "killed" ? "SIGKILL" : "SIGSTOP");
  const tookMs = await stage.awaitStatus(source, "offline");
  if (how === "frozen") publisher.signal("SIGCONT");
  await Promise.all(ended);
  const { seconds } = await stage.probe(await stage.awaitClosed(source, open.uuid));
  assert.ok(seconds > 0, "the recording is empty");
  await assertWithin(t, `${source.alias} is ${how}`, tookMs, how === "killed" ? 1000 : (FROZEN_SECONDS + 1) * 1000);
  for (const client of [publisher, player]) client.resume();
}

test("killed or frozen publishers are detected in time, do not affect others, and can publish again", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  t.after(() => stage.clear());
  const open = async (protocol: "rtsp" | "rtmp", kind: PlayerKind): Promise<Lane> => {
    const path = `interrupted/${protocol}`;
    const source = await stage.register(protocol, path);
    const publisher = stage.publish(protocol, path);
    await stage.awaitStatus(source, "streaming");
    return { source, publisher, player: stage.play(kind, path) };
  };
  const [first, second] = [await open("rtsp", "ffmpeg"), await open("rtmp", "gst")];
  const total = rounds(1, 10);
  for (let round = 0; round < total; round++) {
    await Promise.all([interrupt(t, first, "killed"), interrupt(t, second, "frozen")]);
    await Promise.all([interrupt(t, first, "frozen"), interrupt(t, second, "killed")]);
    progress("interrupted publishers", round + 1, total);
  }
  await moves("at the end", [first.player, second.player]);
});

interface Losses {
  /** Share of frames without a message. */
  readonly share: number;
  readonly longestMs: number;
}

function findLosses(messages: readonly DetectionMessage[]): Losses {
  const times = messages.map(({ timestamp }) => Date.parse(timestamp));
  const steps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
  const due = Math.round(((times.at(-1) ?? 0) - (times[0] ?? 0)) / PICTURE_MS) + 1;
  return { share: Math.max(0, due - times.length) / due, longestMs: Math.max(...steps) };
}

const PICTURE_MS = 40;
/** Maximum additional share of missing frames, compared with no output. */
const MAX_MISSING = rounds(0.05, 0.005);

test("attaching and detaching outputs loses no frame of the process, and each output is playable from its first frame", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  t.after(() => stage.clear());
  const lanes = await Promise.all(
    (["rtsp", "rtmp"] as const).slice(0, rounds(1, 2)).map(async (protocol) => {
      const path = `attached/${protocol}`;
      const source = await stage.register(protocol, path);
      stage.publish(protocol, path);
      await stage.awaitStatus(source, "streaming");
      const running = await stage.startProcess(source);
      return { running, output: await stage.addOutput(`shown/${protocol}`), path: `shown/${protocol}` };
    }),
  );
  const control = await Promise.all(lanes.map(({ running }) => running.detections.next(rounds(50, 500))));
  const starts = lanes.map(({ running }) => running.detections.messages.length);
  const total = rounds(1, 50);
  for (let round = 0; round < total; round++) {
    await Promise.all(
      lanes.map(async ({ running, output, path }) => {
        await stage.attach(running, output);
        await poll("it is live", async () => (await stage.outputStatus(output)) === "live");
        await stage.decode(path, 10);
        await stage.detach(running, output);
        assert.equal(await stage.outputStatus(output), "idle");
      }),
    );
    progress("outputs", round + 1, total);
  }
  for (const [i, { running }] of lanes.entries()) {
    const [alone, shared] = [findLosses(control[i] ?? []), findLosses(running.detections.messages.slice(starts[i]))];
    t.diagnostic(`missing: ${describe(alone)} alone, ${describe(shared)} with outputs`);
    assert.ok(shared.share <= alone.share + MAX_MISSING, `missing: ${describe(shared)}, ${describe(alone)} alone`);
    const { state, stats } = await stage.info(running);
    assert.deepEqual([state, stats.restarts], ["running", 0]);
  }
  await stage.service.expect(200, "DELETE", "/processes");
});

const describe = ({ share, longestMs }: Losses): string => `${(share * 100).toFixed(2)} %, at most ${longestMs} ms`;

/** They use other addresses than the regular clients, which have a limit of their own. */
const BAD_CLIENTS = 1200;
const PER_ADDRESS = 120;
const MAX_CONNECTIONS = 1000;
const MAX_PER_ADDRESS = 200;
const addressOf = (index: number): string => `127.0.1.${1 + Math.floor(index / PER_ADDRESS)}`;

test("more than a thousand misbehaving clients do not affect others, stay within limits, and are disconnected", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  t.after(() => stage.clear());
  const paths = ["crowded/rtsp", "crowded/rtmp"];
  const publishers = [stage.publish("rtsp", "crowded/rtsp"), stage.publish("rtmp", "crowded/rtmp")];
  const sources = [await stage.register("rtsp", "crowded/rtsp"), await stage.register("rtmp", "crowded/rtmp")];
  for (const source of sources) await stage.awaitStatus(source, "streaming");
  const players = paths.map((path) => stage.play("ffmpeg", path));
  const clients = [...publishers, ...players];
  await moves("alone", players);
  const total = rounds(1, 5);
  for (let round = 0; round < total; round++) {
    const hub = stage.hubPid;
    const starts = clients.map((client) => client.starts);
    const missed = await stage.metric("missed_pictures_total");
    const gaps = players.map((player) => player.gaps.length);
    const before = await poll("only regular clients are connected", async () => {
      const connections = await stage.metric("connections");
      return connections === clients.length && connections;
    });
    const files = filesOf(hub);
    const refused = await stage.metric("refused_total");
    const [silent] = HABITS;
    const single = new Crowd();
    const crowd = new Crowd();
    t.after(() => {
      single.close();
      crowd.close();
    });

    for (let i = 0; i < MAX_PER_ADDRESS + 50; i++) single.add(stage.ports.rtsp, "rtsp", "127.0.2.1", silent);
    await poll("connections beyond the limit of an address are refused", async () => {
      return (await stage.metric("refused_total")) >= refused + 50;
    });
    let peak = 0;
    for (let i = 0; i < BAD_CLIENTS; i++) {
      const protocol = i % 2 === 0 ? "rtsp" : "rtmp";
      const habit = HABITS[Math.floor(i / 2) % HABITS.length] ?? silent;
      crowd.add(stage.ports[protocol], protocol, addressOf(i), habit);
    }
    await poll("all of them are disconnected", async () => {
      peak = Math.max(peak, await stage.metric("connections"));
      return crowd.open === 0 && single.open === 0;
    });
    const refusedCount = (await stage.metric("refused_total")) - refused;
    t.diagnostic(`${peak} connections at most, ${refusedCount} refused; ${crowd.received} bytes sent to them`);
    assert.ok(peak <= MAX_CONNECTIONS, `${peak} connections at once`);
    await poll("only regular clients are connected again", async () => (await stage.metric("connections")) === before);
    await moves("after the crowd", players);
    assert.equal(stage.hubPid, hub, "the hub was not restarted");
    assert.deepEqual(
      clients.map((client) => client.starts),
      starts,
      "no client was disconnected",
    );
    assert.equal(await stage.metric("missed_pictures_total"), missed);
    assert.deepEqual(
      players.map((player) => player.gaps.length),
      gaps,
      `missing pictures: ${players.map((player) => player.gaps)}`,
    );
    assert.ok(filesOf(hub) <= files + 2, `${filesOf(hub)} open files, ${files} before`);
    progress("crowds", round + 1, total);
  }
  await moves("a new player", [stage.play("ffmpeg", "crowded/rtmp")]);
});

/** Maximum ratio of memory in the last quarter to the first one. Both include garbage. */
const MAX_GROWTH = 1.15;

test("publishers with two players each over a long time: no picture is lost, memory and open files stay flat", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  t.after(() => stage.clear());
  const isLong = process.env.WINDHOVER_SOAK === "1";
  const options = isLong ? { size: "1280x720", kilobits: 1000 } : {};
  const clip = await makeLoop(join(stage.service.folder.path, "long.mp4"), options);
  const paths = Array.from({ length: rounds(2, 8) }, (_, i) => `long/${i}`);
  const publishers = [];
  for (const [i, path] of paths.entries()) {
    const protocol = i % 2 === 0 ? "rtsp" : "rtmp";
    const source = await stage.register(protocol, path);
    publishers.push(stage.publish(protocol, path, clip));
    await stage.awaitStatus(source, "streaming");
  }
  const players = paths.flatMap((path) => [stage.play("ffmpeg", path), stage.play("ffmpeg", path)]);
  await moves("at first", players);
  const clients = [...publishers, ...players];
  const starts = clients.map((client) => client.starts);
  const hub = stage.hubPid;
  const missed = await stage.metric("missed_pictures_total");
  const shown = players.map(({ pictures }) => pictures);
  const sent = publishers.map(({ sentSeconds }) => sentSeconds);

  const [warmSeconds, seconds] = [rounds(1, 60), rounds(1, 600)];
  await wait(warmSeconds * 1000);
  const files = filesOf(hub);
  const memory: number[] = [];
  for (let i = 0; i < seconds; i++) {
    await wait(1000);
    memory.push(rssOf(hub));
    progress(`hub ${memory.at(-1)?.toFixed(0)} MB, ${filesOf(hub)} files`, i + 1, seconds);
  }
  const quarter = Math.ceil(seconds / 4);
  const [first, last] = [median(memory.slice(0, quarter)), median(memory.slice(-quarter))];
  t.diagnostic(
    `the hub: ${first.toFixed(1)} MB in the first quarter, ${last.toFixed(1)} MB in the last; ${filesOf(hub)} files`,
  );
  if (isLong) assert.ok(last <= first * MAX_GROWTH, `RSS grew from ${first} MB to ${last} MB`);
  // A recording has two open files for a moment when it begins the next one.
  assert.ok(filesOf(hub) <= files + paths.length, `${filesOf(hub)} open files, ${files} before`);
  assert.equal(await stage.metric("missed_pictures_total"), missed);
  assert.deepEqual(
    clients.map((client) => client.starts),
    starts,
    `a client was disconnected: ${clients.map(({ lastErrors }) => lastErrors)}`,
  );
  assert.deepEqual(
    players.flatMap(({ gaps }) => gaps),
    [],
  );
  for (const [i, player] of players.entries()) {
    const lane = Math.floor(i / 2);
    const published = ((publishers[lane]?.sentSeconds ?? 0) - (sent[lane] ?? 0)) * 25;
    const played = player.pictures - (shown[i] ?? 0);
    assert.ok(played >= published - 50, `${played} of ${published} pictures were played`);
  }
});

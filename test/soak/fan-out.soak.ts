/**
 * One stream to 50 viewers by WebRTC: every frame is sent to all of them, and none is lost. Prints the processor time of a
 * viewer. The viewers count packets without decrypting them; `npm run bench -- media` has 200 players by RTSP.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ForkedHub } from "../../hub/hub.fixture.ts";
import { TestViewer } from "../../hub/webrtc/test-viewer.fixture.ts";
import { makeFilm, startPump } from "../../tools/bench/media/film.ts";
import { poll } from "../watch.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const VIEWERS = rounds(5, 50);
const MEASURED_MS = rounds(2000, 10_000);

const limits = { readersPerStream: 400, connections: 1000, connectionsPerAddress: 1000 };
const hub = await ForkedHub.open({ limits, settings: {} });
after(() => hub.remove());

function offer(path: string, sdp: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: join(hub.folder, "hub.sock"), method: "POST", path: `/whep/${path}` });
    asked.on("error", reject).on("response", async (answer) => {
      let text = "";
      for await (const piece of answer) text += piece;
      if (answer.statusCode === 201) resolve(text);
      else reject(new Error(`${answer.statusCode} ${text}`));
    });
    asked.end(sdp);
  });
}

/** Of all threads. */
function readCpuMs(): number {
  const folder = `/proc/${hub.child.pid}/task`;
  const times = readdirSync(folder).map(
    (thread) => readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0],
  );
  return times.reduce((sum, ns) => sum + Number(ns) / 1e6, 0);
}

test(`one stream to ${VIEWERS} viewers by WebRTC, without loss`, { timeout: 600_000 }, async (t) => {
  const pump = await startPump((await hub.rtsp("bench/film")).replace("//", "//any:key@"), await makeFilm());
  t.after(() => pump.stop());
  await hub.next("published");
  const viewers: TestViewer[] = [];
  t.after(() => {
    for (const viewer of viewers) viewer.close();
  });
  while (viewers.length < VIEWERS) {
    const viewer = await TestViewer.create({ isCounting: true });
    viewers.push(viewer);
    await viewer.connect(await offer("bench/film", viewer.offer));
  }
  await poll("all get frames", () => viewers.every(({ counted }) => counted.frames > 10));
  const sum = (name: keyof TestViewer["counted"]) => viewers.reduce((all, { counted }) => all + counted[name], 0);
  // A viewer that joins misses frames up to the first keyframe.
  const readMissed = () => hub.all("stats").at(-1)?.streams[0]?.missed ?? 0;
  await hub.next("stats", ({ streams }) => streams[0]?.readers === VIEWERS);
  const before = {
    ...{ cpu: readCpuMs(), frames: sum("frames"), packets: sum("packets"), sent: pump.sentAtMs.length },
    missed: readMissed(),
  };
  const beganMs = performance.now();
  await sleep(MEASURED_MS);
  const cpu = (100 * (readCpuMs() - before.cpu)) / (performance.now() - beganMs);
  const packets = sum("packets") - before.packets;
  // Those that were on their way when the measurement began count, too.
  const sent = (pump.sentAtMs.length - before.sent) * VIEWERS;
  await poll("all frames arrive", () => sum("frames") - before.frames >= sent && sum("lost") === 0, {
    describe: () => `${sum("frames") - before.frames} of ${sent} frames, ${sum("lost")} packets are missing`,
  });
  const missed = readMissed() - before.missed;
  t.diagnostic(
    `${VIEWERS} viewers: CPU ${cpu.toFixed(0)} % of one core, ${(cpu / VIEWERS).toFixed(2)} % a viewer; ` +
      `${sent} frames in ${packets} packets, of which ${sum("requested")} were requested again; ` +
      `the hub dropped ${missed} frames`,
  );
  assert.equal(missed, 0);
});

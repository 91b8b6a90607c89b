/** Real graphs that pull MPEG-TS: from an SRT listener, as one, and from UDP. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { after, test } from "node:test";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import { ForkedHub } from "../../hub/hub.fixture.ts";
import { freeUdpPort } from "../../hub/srt/srt.fixture.ts";
import { collector, compiledLaunch, start } from "../../test/graph.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";

const PASSPHRASE = "correct-horse-battery";

/** Until it is ended; 25 frames per second. */
function send(url: string): ChildProcess {
  const encoder = "-c:v libx264 -preset ultrafast -tune zerolatency -g 10 -pix_fmt yuv420p -f mpegts";
  const child = spawn(
    "ffmpeg",
    ["-v", "error", "-re", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=25", ...encoder.split(" "), url],
    { stdio: "ignore" },
  );
  after(() => child.kill("SIGKILL"));
  return child;
}

async function pull(uri: string, t: { after(clean: () => unknown): void }, more = "") {
  const watch = new Watch();
  const captures: number[] = [];
  const events: GraphEvent[] = [];
  const sink = collector(({ captureNs }) => {
    captures.push(Number(captureNs / 1_000_000n));
    watch.check();
  });
  const line = `source uri="${uri}" connect-ms=60000 ${more} ! decode ! collect`;
  const starting = start(compiledLaunch(line, sink), [sink], {
    onEvent(event) {
      events.push(event);
      watch.check();
    },
  });
  t.after(async () => (await starting.catch(() => null))?.stop());
  return { watch, captures, events, starting };
}

const stateOf = (event: GraphEvent) =>
  event.type === "element" && event.event.type === "source" ? String(event.event.state) : "";

const packetsOf = (event: GraphEvent) =>
  event.type === "element" && event.event.type === "link" ? Number(event.event.packets_received) : 0;

test("pulls from an SRT listener with a stream id, and again after the stream was interrupted", async (t) => {
  const hub = await ForkedHub.open();
  t.after(() => hub.remove());
  const { srtPort } = await hub.ports();
  const publish = () => send(`srt://127.0.0.1:${srtPort}?streamid=#!::r=anna/yard,u=x,m=publish`);
  const first = publish();
  await hub.next("published");
  const beganMs = Date.now();
  const { watch, captures, events } = await pull(
    `srt://127.0.0.1:${srtPort}?streamid=%23!::r=anna/yard,u=x&latency=120`,
    t,
    "stall-ms=1500",
  );
  await watch.until("frames", () => captures.length > 10);
  await watch.until("statistics of the link", () => events.some((event) => packetsOf(event) > 20));
  // The sender's own clock is not known: frames have the time of their arrival.
  for (const captureMs of captures) assert.ok(captureMs >= beganMs - 1000 && captureMs <= Date.now() + 1000);
  first.kill("SIGKILL");
  await watch.until("the loss", () => events.some((event) => /lost|reconnecting|offline/.test(stateOf(event))));
  // Until the hub notices that the publisher is dead, it rejects another one, and readers get the cached pictures again.
  await hub.next("unpublished");
  const republishedMs = Date.now();
  publish();
  await watch.until("more frames", () => captures.filter((captureMs) => captureMs > republishedMs).length > 5);
});

test("listens for an encrypted caller", async (t) => {
  const port = await freeUdpPort();
  const { watch, captures } = await pull(`srt://127.0.0.1:${port}?mode=listener&passphrase=${PASSPHRASE}`, t);
  const timer = setInterval(() => {
    if (sender.exitCode !== null) sender = send(url);
  }, 200);
  const url = `srt://127.0.0.1:${port}?passphrase=${PASSPHRASE}`;
  let sender = send(url);
  t.after(() => clearInterval(timer));
  await watch.until("frames", () => captures.length > 10);
});

test("receives MPEG-TS over UDP", async (t) => {
  const port = await freeUdpPort();
  send(`udp://127.0.0.1:${port}?pkt_size=1316`);
  const { watch, captures } = await pull(`udp://127.0.0.1:${port}`, t);
  await watch.until("frames", () => captures.length > 10);
});

/** The SRT port of a hub, with ffmpeg, GStreamer and srt-live-transmit as its clients. */
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { after } from "node:test";
import type { HubSettings } from "../../schemas/hub.ts";
import type { ListenOptions } from "../connections.ts";
import { ffmpeg, KEY, type Outcome, runProgram, TestIngest } from "../rtmp/rtmp.fixture.ts";
import { openSrt } from "./session.ts";

export interface SrtTestOptions {
  readonly limits?: Partial<HubSettings["limits"]>;
  readonly passphrase?: string | null;
  readonly latencyMs?: number;
}

export const openSrtIngest = ({ limits = {}, passphrase = null, latencyMs = 120 }: SrtTestOptions = {}) =>
  TestIngest.open(limits, (options: ListenOptions) => openSrt({ ...options, passphrase, latencyMs }));

export const streamId = (path: string, mode: "publish" | "request", key: string | null = KEY): string =>
  `#!::r=${path},m=${mode}${key === null ? "" : `,u=${key}`}`;

export const srtUrl = (port: number, id: string, more = ""): string => `srt://127.0.0.1:${port}?streamid=${id}${more}`;

/** A file in real time, as MPEG-TS. Without `linger`, ffmpeg discards what it has not sent at the end. */
export const publishFile = (file: string, url: string): Promise<Outcome> =>
  ffmpeg("-re", "-i", file, "-c", "copy", "-f", "mpegts", "-linger", "5", url);

/**
 * GStreamer takes the stream id as a property, and closes without waiting for what it has not sent: the live source keeps
 * it running until it is ended.
 */
export const publishByGst = (file: string, port: number, id: string, ended: AbortSignal): Promise<Outcome> =>
  runProgram(
    "gst-launch-1.0",
    [
      ...["-q", "filesrc", `location=${file}`, "!", "flvdemux", "name=demux"],
      ...["mpegtsmux", "name=mux", "alignment=7", "!", "srtsink", `uri=srt://127.0.0.1:${port}`, `streamid=${id}`],
      ...["demux.video", "!", "queue", "!", "h264parse", "config-interval=-1", "!", "mux."],
      ...["audiotestsrc", "is-live=true", "!", "fakesink"],
    ],
    ended,
    "SIGINT",
  );

/** srt-live-transmit reads MPEG-TS from a UDP port, to which ffmpeg sends. */
export async function publishByTransmit(file: string, port: number, id: string): Promise<Outcome> {
  const udp = await freeUdpPort();
  const transmit = start("srt-live-transmit", ["-q", `udp://127.0.0.1:${udp}`, srtUrl(port, id)]);
  const outcome = await ffmpeg("-re", "-i", file, "-c", "copy", "-f", "mpegts", `udp://127.0.0.1:${udp}?pkt_size=1316`);
  transmit.kill("SIGINT");
  return outcome;
}

export async function freeUdpPort(): Promise<number> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}

/** A program listens on this UDP port. */
export async function isTaken(port: number): Promise<boolean> {
  const socket = createSocket("udp4");
  try {
    socket.bind(port, "127.0.0.1");
    await once(socket, "listening");
    return false;
  } catch {
    return true;
  } finally {
    socket.close();
  }
}

/** Killed with the test at the latest. */
export function start(program: string, args: readonly string[], output: number | "ignore" = "ignore"): ChildProcess {
  const child = spawn(program, args, { stdio: ["ignore", output, "ignore"] });
  after(() => child.kill("SIGKILL"));
  return child;
}

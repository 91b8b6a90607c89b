/** Players for RTSP (interleaved, without a jitter buffer) and RTMP that report every frame when its last byte has arrived. */

import { connect } from "node:net";
import { CommandFailure } from "../../../cli/command.ts";
import { CODECS } from "../../../media/codecs.ts";
import { splitLengths } from "../../../media/h264/nal.ts";
import { ChunkReader, INITIAL_CHUNK_SIZE, writeChunks } from "../../../media/rtmp/chunks.ts";
import { readRtmpAddress } from "../../../media/rtmp/client.ts";
import { readVideo } from "../../../media/rtmp/flv.ts";
import { Handshake } from "../../../media/rtmp/handshake.ts";
import { MESSAGE, type Message, makeCommand, readCommand } from "../../../media/rtmp/message.ts";
import { NalDepayloader } from "../../../media/rtp/nal-units.ts";
import { type RtpPacket, readRtp, sequenceStep } from "../../../media/rtp/packet.ts";
import { RtspClient, readRtspAddress, trackUrl } from "../../../media/rtsp/client.ts";

const RTSP_STEP_MS = 5000;
const MOST_BYTES = 2 ** 23;

export async function playRtsp(url: string, onPicture: (nals: readonly Uint8Array[]) => void): Promise<() => void> {
  const pictures = new NalDepayloader(CODECS.h264, MOST_BYTES, ({ nals }) => onPicture(nals));
  let expected: number | null = null;
  return play(url, (packet) => {
    const isAfterLoss = expected !== null && packet.sequence !== expected;
    expected = (packet.sequence + 1) % 2 ** 16;
    pictures.push(packet, isAfterLoss);
  });
}

/** Counts frames and missing packets only, so that one process can be many players. */
export async function countRtsp(
  url: string,
): Promise<{ readonly frames: () => number; readonly lost: () => number; readonly stop: () => void }> {
  let [frames, lost] = [0, 0];
  let expected: number | null = null;
  const stop = await play(url, ({ sequence, marker }) => {
    if (expected !== null) lost += sequenceStep(expected, sequence);
    expected = (sequence + 1) % 2 ** 16;
    if (marker) frames++;
  });
  return { frames: () => frames, lost: () => lost, stop };
}

async function play(url: string, onPacket: (packet: RtpPacket) => void): Promise<() => void> {
  const address = readRtspAddress(url);
  const client = await RtspClient.open(address, {
    stepMs: RTSP_STEP_MS,
    onFrame: (channel, bytes) => {
      const packet = channel === 0 ? readRtp(bytes) : null;
      if (packet !== null) onPacket(packet);
    },
  });
  await client.request("DESCRIBE", address.url, { Accept: "application/sdp" });
  const { headers } = await client.request("SETUP", trackUrl(address.url, 0), {
    Transport: "RTP/AVP/TCP;unicast;interleaved=0-1",
  });
  const [session = ""] = (headers.get("session") ?? "").split(";");
  await client.request("PLAY", address.url, { Session: session, Range: "npt=0.000-" });
  return () => client.fail("closed");
}

const LIMITS = { chunkStreams: 64, commandBytes: 65_536, mediaBytes: 2 ** 23 };
const RTMP_LIMIT_MS = 10_000;

/** Resolves with a function that stops it, once the first frame has arrived. */
export function playRtmp(url: string, onPicture: (nals: readonly Uint8Array[]) => void): Promise<() => void> {
  const { host, port, app, name, tcUrl } = readRtmpAddress(url);
  const socket = connect({ host, port, noDelay: true });
  const reader = new ChunkReader(LIMITS);
  reader.readsMedia = true;
  const send = (
    streamId: number,
    ...values: Parameters<typeof makeCommand> extends [number, ...infer V] ? V : never
  ) => {
    for (const piece of writeChunks(makeCommand(streamId, ...values), INITIAL_CHUNK_SIZE)) socket.write(piece);
  };
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail("no frame arrived in time"), RTMP_LIMIT_MS);
    const fail = (reason: string): void => {
      socket.destroy();
      reject(new CommandFailure(`${host}:${port} cannot be played: ${reason}`));
    };
    const onMessage = (message: Message): void => {
      if (message.type === MESSAGE.command) {
        const { name: answer, transaction } = readCommand(message);
        if (answer === "_result" && transaction === 1) send(0, "createStream", 2, null);
        if (answer === "_result" && transaction === 2) send(1, "play", 3, null, name);
      }
      const video = message.type === MESSAGE.video ? readVideo(message.body) : null;
      if (video?.kind !== "picture") return;
      onPicture(splitLengths(video.nals, 4));
      clearTimeout(timer);
      resolve(() => socket.destroy());
    };
    socket.on("error", (error) => fail(error.message));
    socket.once("connect", () => {
      let handshake: Handshake | null = new Handshake("client", (bytes) => socket.write(bytes));
      socket.on("data", (bytes) => {
        const rest = handshake === null ? bytes : handshake.push(bytes);
        if (rest === null) return;
        if (handshake !== null) send(0, "connect", 1, { app, tcUrl, flashVer: "LNX 9,0,124,2" });
        handshake = null;
        reader.push(rest);
        for (let message = reader.next(); message !== null; message = reader.next()) onMessage(message);
      });
    });
  });
}

/** Plays by RTSP within its connection, without a jitter buffer: tells of every picture when its last byte is there. */

import { H264Depayloader } from "../../../media/rtp/h264-depayload.ts";
import { readRtp } from "../../../media/rtp/packet.ts";
import { readRtspAddress, trackUrl } from "../../../media/rtsp/address.ts";
import { RtspClient } from "../../../media/rtsp/client.ts";

const STEP_MS = 5000;
const MOST_BYTES = 2 ** 23;

export async function playRtsp(url: string, onPicture: (nals: readonly Uint8Array[]) => void): Promise<() => void> {
  const address = readRtspAddress(url);
  const pictures = new H264Depayloader(MOST_BYTES, ({ nals }) => onPicture(nals));
  let expected: number | null = null;
  const client = await RtspClient.open(address, {
    stepMs: STEP_MS,
    onFrame: (channel, bytes) => {
      const packet = channel === 0 ? readRtp(bytes) : null;
      if (packet === null) return;
      const isAfterLoss = expected !== null && packet.sequence !== expected;
      expected = (packet.sequence + 1) % 2 ** 16;
      pictures.take(packet, isAfterLoss);
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

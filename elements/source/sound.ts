/** AAC of a live stream → frames with the capture time of their first sample, for outputs that send the sound on. */
import { AdtsReader, SAMPLES } from "../../media/aac/adts.ts";
import { readAudioConfig } from "../../media/aac/config.ts";
import { MediaError } from "../../media/access-unit.ts";
import { AacDepayloader } from "../../media/rtp/aac.ts";
import { readRtp, sequenceStep } from "../../media/rtp/packet.ts";
import { SOUND_CHANNEL, type SoundMessage } from "../../schemas/sound.ts";
import type { DriverServices, MetadataPacket, MetadataTap } from "../element.ts";

/** Of RTSP (RFC 3640), and of MPEG-TS, FLV and MP4 as their demuxers output it. */
const CAPS = "application/x-rtp,media=audio,encoding-name=MPEG4-GENERIC;audio/mpeg,mpegversion={2,4}";

interface AacFrame {
  readonly config: Uint8Array;
  readonly frame: Uint8Array;
}
type ReadFrames = (data: Uint8Array) => readonly AacFrame[];

/** For one connection. Of several tracks, the first. */
export function tapSound(services: Pick<DriverServices, "deliver" | "log">): MetadataTap {
  let read: ReadFrames | null = null;
  let readCaps = "";
  let hasWarned = false;
  return {
    caps: CAPS,
    onPacket({ captureNs, data, caps }: MetadataPacket) {
      if (captureNs === null) return;
      try {
        if (read === null || caps !== readCaps) read = readerOf(caps);
        readCaps = caps;
        const startMs = Number(captureNs / 1000n) / 1000;
        for (const [index, { config, frame }] of read(data).entries()) {
          const message: SoundMessage = {
            captureMs: startMs + (index * SAMPLES * 1000) / readAudioConfig(config).sampleRate,
            config: toBase64(config),
            data: toBase64(frame),
          };
          services.deliver(SOUND_CHANNEL, { ...message });
        }
      } catch (error) {
        if (!(error instanceof MediaError)) throw error;
        if (!hasWarned) services.log.warn("sound of the stream ignored", { reason: error.message });
        hasWarned = true;
      }
    },
  };
}

const toBase64 = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString("base64");

/** Throws a `MediaError` for caps without the configuration of the frames. */
function readerOf(caps: string): ReadFrames {
  if (caps.startsWith("application/x-rtp")) return readRtpFrames(caps);
  if (/stream-format=\(string\)adts\b/.test(caps)) {
    const reader = new AdtsReader();
    return (data) => reader.push(data);
  }
  const config = /codec_data=\(buffer\)([0-9a-f]+)/.exec(caps)?.[1];
  if (config === undefined) throw new MediaError("the stream does not state the configuration of its AAC");
  return (frame) => [{ config: Buffer.from(config, "hex"), frame }];
}

function readRtpFrames(caps: string): ReadFrames {
  const field = (name: string): string | undefined =>
    new RegExp(`\\b${name}=\\((?:string|int)\\)"?([0-9A-Fa-f]+)`, "i").exec(caps)?.[1];
  const text = field("config");
  if (text === undefined) throw new MediaError("the camera does not state the configuration of its AAC");
  const config = Buffer.from(text, "hex");
  const frames: AacFrame[] = [];
  const layout = {
    sizeBits: Number(field("sizelength") ?? 13),
    indexBits: Number(field("indexlength") ?? 3),
    frameTicks: SAMPLES,
  };
  const depayloader = new AacDepayloader(layout, ({ frame }) => frames.push({ config, frame }));
  let last: number | null = null;
  return (data) => {
    const packet = readRtp(data);
    if (packet === null) return [];
    const isAfterLoss = last !== null && sequenceStep(last, packet.sequence) !== 1;
    last = packet.sequence;
    frames.length = 0;
    depayloader.push(packet, isAfterLoss);
    return frames;
  };
}

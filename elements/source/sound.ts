/** AAC of a source → frames with the capture time of their first sample, for outputs that send the sound on. */
import { AdtsReader, SAMPLES } from "../../media/aac/adts.ts";
import { readAudioConfig } from "../../media/aac/config.ts";
import { MediaError } from "../../media/access-unit.ts";
import { AacDepayloader } from "../../media/rtp/aac.ts";
import { readRtp, sequenceStep } from "../../media/rtp/packet.ts";
import { SOUND_CHANNEL, type SoundMessage } from "../../schemas/sound.ts";
import type { DriverServices, MetadataPacket, MetadataTap } from "../element.ts";

/** Of RTSP, and as demuxers and parsers output it. Those that are not AAC are named in the status of outputs. */
const CAPS = [
  "application/x-rtp,media=audio",
  ..."mpeg,x-opus,x-alaw,x-mulaw,x-ac3,x-eac3,x-vorbis,x-flac,x-raw,x-adpcm,AMR,x-speex"
    .split(",")
    .map((name) => `audio/${name}`),
].join(";");

interface AacFrame {
  readonly config: Uint8Array;
  readonly frame: Uint8Array;
}
type ReadFrames = (data: Uint8Array) => readonly AacFrame[];

/** For one connection, or one file. Of several tracks, the first with AAC. Nothing is read while no output wants sound. */
export function tapSound(services: Pick<DriverServices, "deliver" | "isHeard" | "log">): MetadataTap {
  let chosen: { readonly stream: string; caps: string; read: ReadFrames } | null = null;
  let fault: string | null = null;
  const deliver = (message: SoundMessage): void => services.deliver(SOUND_CHANNEL, { ...message });
  const onFault = (reason: string): void => {
    if (fault !== reason) services.log.warn("sound of the source is not passed on", { reason });
    fault = reason;
    deliver({ unsupported: reason });
  };
  const passOn = ({ captureNs, data, caps, stream }: MetadataPacket): void => {
    if (captureNs === null) return;
    if (chosen === null || chosen.caps !== caps) chosen = { stream, caps, read: readerOf(caps) };
    const startMs = Number(captureNs / 1000n) / 1000;
    for (const [index, { config, frame }] of chosen.read(data).entries()) {
      const captureMs = startMs + (index * SAMPLES * 1000) / readAudioConfig(config).sampleRate;
      deliver({ captureMs, config: toBase64(config), data: toBase64(frame) });
    }
  };
  return {
    caps: CAPS,
    onPacket(packet) {
      if (!services.isHeard(SOUND_CHANNEL)) {
        chosen = null;
        return;
      }
      if (chosen !== null && chosen.stream !== packet.stream) return;
      try {
        if (isAac(packet.caps)) passOn(packet);
        else onFault(nameCodec(packet.caps));
      } catch (error) {
        if (!(error instanceof MediaError)) throw error;
        onFault(`AAC that cannot be read (${error.message})`);
      }
    },
  };
}

const toBase64 = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString("base64");

const formatOf = (caps: string): string => caps.split(",", 1)[0] ?? "";

/** Of caps as text: `audio/mpeg, mpegversion=(int)4, …`. */
function fieldOf(caps: string, name: string): string | undefined {
  const field = caps.split(",").find((text) => text.trimStart().startsWith(`${name}=(`));
  return field?.slice(field.indexOf(")") + 1).replaceAll('"', "");
}

export const isSound = (caps: string): boolean =>
  caps.startsWith("audio/") || (caps.startsWith("application/x-rtp") && fieldOf(caps, "media") === "audio");

function isAac(caps: string): boolean {
  if (caps.startsWith("application/x-rtp")) return fieldOf(caps, "encoding-name")?.toUpperCase() === "MPEG4-GENERIC";
  const version = fieldOf(caps, "mpegversion");
  return caps.startsWith("audio/mpeg") && (version === "2" || version === "4");
}

const nameCodec = (caps: string): string => {
  const name = fieldOf(caps, "encoding-name") ?? formatOf(caps).replace(/^audio\/(?:x-)?/, "");
  return name === "mpeg" ? "MP3" : name.toUpperCase();
};

/** Throws a `MediaError` for caps without the configuration of the frames. */
function readerOf(caps: string): ReadFrames {
  if (caps.startsWith("application/x-rtp")) return readRtpFrames(caps);
  if (fieldOf(caps, "stream-format") === "adts") {
    const reader = new AdtsReader();
    return (data) => reader.push(data);
  }
  const config = fieldOf(caps, "codec_data");
  if (config === undefined) throw new MediaError("the stream does not state its configuration");
  return (frame) => [{ config: Buffer.from(config, "hex"), frame }];
}

function readRtpFrames(caps: string): ReadFrames {
  const text = fieldOf(caps, "config");
  if (text === undefined || !/^[0-9a-f]+$/i.test(text))
    throw new MediaError("the camera does not state its configuration");
  const config = Buffer.from(text, "hex");
  const frames: AacFrame[] = [];
  const layout = {
    sizeBits: Number(fieldOf(caps, "sizelength") ?? 13),
    indexBits: Number(fieldOf(caps, "indexlength") ?? 3),
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

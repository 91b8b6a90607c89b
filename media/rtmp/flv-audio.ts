/** The body of an audio message: FLV's (Adobe, annex E.4.2), and that of enhanced RTMP. */

export type AudioBody =
  /** An AudioSpecificConfig. */
  | { readonly kind: "config"; readonly config: Uint8Array }
  | { readonly kind: "frame"; readonly frame: Uint8Array }
  | { readonly kind: "nothing" }
  | { readonly kind: "foreign"; readonly codec: string };

const AAC = 10;
const ENHANCED = 9;
const CODECS: Readonly<Record<number, string>> = {
  ...{ 0: "PCM", 1: "ADPCM", 2: "MP3", 3: "PCM", 4: "Nellymoser", 5: "Nellymoser", 6: "Nellymoser" },
  ...{ 7: "G.711", 8: "G.711", 11: "Speex", 14: "MP3" },
};
const FOUR_CC: Readonly<Record<string, string>> = { Opus: "Opus", fLaC: "FLAC", "ac-3": "AC-3", "ec-3": "E-AC-3" };
const PACKET = { begin: 0, frames: 1 } as const;

export function readAudio(body: Buffer): AudioBody {
  const first = body[0];
  if (first === undefined) return { kind: "nothing" };
  const codec = first >> 4;
  if (codec === ENHANCED) {
    const name = body.toString("latin1", 1, 5);
    if (name !== "mp4a") return { kind: "foreign", codec: FOUR_CC[name] ?? `codec ${JSON.stringify(name)}` };
    return readAac(first & 15, body.subarray(5));
  }
  if (codec !== AAC) return { kind: "foreign", codec: CODECS[codec] ?? `codec ${codec}` };
  return readAac(body[1], body.subarray(2));
}

function readAac(packet: number | undefined, rest: Buffer): AudioBody {
  if (rest.length === 0) return { kind: "nothing" };
  if (packet === PACKET.begin) return { kind: "config", config: rest };
  if (packet === PACKET.frames) return { kind: "frame", frame: rest };
  return { kind: "nothing" };
}

/** AAC, 44 kHz, 16 bit, stereo: what FLV wants written whatever the configuration says. */
const AAC_HEAD = 0xaf;

export const writeAudioConfig = (config: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(AAC_HEAD, PACKET.begin), config]);

export const writeAudioFrame = (frame: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(AAC_HEAD, PACKET.frames), frame]);

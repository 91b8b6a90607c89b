/** AudioSpecificConfig of AAC (ISO/IEC 14496-3, 1.6.2.1), as far as anything here wants to know it. */
import { MediaFault } from "../fault.ts";

export interface AudioConfig {
  readonly sampleRate: number;
  readonly channels: number;
}

const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350];
/** By channelConfiguration; 0 stands for one that is told elsewhere, which is taken for stereo. */
const CHANNELS = [2, 1, 2, 3, 4, 5, 6, 8];
/** Main, LC, SSR, LTP, and what wraps LC: SBR and PS. */
const AAC_TYPES = new Set([1, 2, 3, 4, 5, 29]);
const RATE_FOLLOWS = 15;

/** Throws a `MediaFault` for anything that is not AAC. */
export function readAudioConfig(bytes: Uint8Array): AudioConfig {
  if (bytes.length < 2) throw new MediaFault("the AAC configuration is cut off");
  const type = bitsAt(bytes, 0, 5);
  if (!AAC_TYPES.has(type)) throw new MediaFault(`AAC was expected, audio object type ${type} came`);
  const index = bitsAt(bytes, 5, 4);
  const isTold = index === RATE_FOLLOWS;
  if (isTold && bytes.length < 5) throw new MediaFault("the AAC configuration is cut off");
  const sampleRate = isTold ? bitsAt(bytes, 9, 24) : RATES[index];
  const channels = CHANNELS[bitsAt(bytes, isTold ? 33 : 9, 4)];
  if (sampleRate === undefined || sampleRate < 1000 || sampleRate > 192_000)
    throw new MediaFault("the AAC configuration has a sample rate that does not exist");
  if (channels === undefined) throw new MediaFault("the AAC configuration has channels that do not exist");
  return { sampleRate, channels };
}

function bitsAt(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let i = at; i < at + count; i++) value = value * 2 + (((bytes[i >> 3] ?? 0) >> (7 - (i & 7))) & 1);
  return value;
}

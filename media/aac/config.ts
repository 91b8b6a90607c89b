/** Reads sample rate and channels from the AudioSpecificConfig of AAC (ISO/IEC 14496-3, 1.6.2.1). */
import { MediaError } from "../access-unit.ts";
import { BitReader } from "../bits.ts";

export interface AudioConfig {
  readonly sampleRate: number;
  readonly channels: number;
}

const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350];
/** By channelConfiguration. 0 means that a program config element follows; treated as stereo. */
const CHANNELS = [2, 1, 2, 3, 4, 5, 6, 8];
/** Main, LC, SSR, LTP, and the wrappers of LC: SBR and PS. */
const AAC_TYPES = new Set([1, 2, 3, 4, 5, 29]);
const EXPLICIT_RATE = 15;

/** Throws a `MediaError` unless it is AAC. */
export function readAudioConfig(bytes: Uint8Array): AudioConfig {
  const bits = new BitReader(bytes, "the AAC configuration");
  const type = bits.bits(5);
  if (!AAC_TYPES.has(type)) throw new MediaError(`expected AAC, received audio object type ${type}`);
  const index = bits.bits(4);
  const sampleRate = index === EXPLICIT_RATE ? bits.bits(24) : RATES[index];
  const channels = CHANNELS[bits.bits(4)];
  if (sampleRate === undefined || sampleRate < 1000 || sampleRate > 192_000)
    throw new MediaError("the AAC configuration has an invalid sample rate");
  if (channels === undefined) throw new MediaError("the AAC configuration has an invalid channel configuration");
  return { sampleRate, channels };
}

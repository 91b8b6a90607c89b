/** MPEG transport stream (ISO/IEC 13818-1): what the demuxer and the muxer share. */

export const TS_BYTES = 188;
export const SYNC = 0x47;
export const PAT_PID = 0;
export const NULL_PID = 0x1fff;
/** Timestamps have 33 bits and 90,000 ticks per second. */
export const WRAP = 2 ** 33;

/** Of elementary streams, in a PMT. */
export const STREAM_TYPE = {
  mpeg1Audio: 0x03,
  mpeg2Audio: 0x04,
  private: 0x06,
  adts: 0x0f,
  latm: 0x11,
  metadata: 0x15,
  h264: 0x1b,
  h265: 0x24,
  ac3: 0x81,
} as const;

const CRC = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit++) value = value & 0x8000_0000 ? (value << 1) ^ 0x04c1_1db7 : value << 1;
  return value;
});

/** CRC of sections (annex A): 0 over a section with its own CRC. */
export function sectionCrc(bytes: Uint8Array): number {
  let value = -1;
  for (const byte of bytes) value = (value << 8) ^ (CRC[((value >>> 24) ^ byte) & 0xff] as number);
  return value >>> 0;
}

export const toTicks = (us: number): number => Math.round((us * 9) / 100);
export const toUs = (ticks: number): number => (ticks * 100) / 9;

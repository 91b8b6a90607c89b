const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb8_8320 : value >>> 1;
  return value;
});

/** CRC-32 of gzip and STUN. `before`: that of the data before. Not that of `node:zlib`, which Node 20.11 does not have. */
export function crc32(data: Uint8Array, before = 0): number {
  let value = ~before;
  for (const byte of data) value = (TABLE[(value ^ byte) & 0xff] as number) ^ (value >>> 8);
  return ~value >>> 0;
}

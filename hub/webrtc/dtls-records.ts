/** Looks at the records of a DTLS datagram (RFC 6347, 4.1) before the library does, which trusts the lengths in them. */
const RECORD_HEADER_BYTES = 13;
const MESSAGE_HEADER_BYTES = 12;
/** Certificates of browsers have less than 1 KB. */
const MAX_MESSAGE_BYTES = 16_384;
const ALERT = 21;
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;

/**
 * Whether every record is whole and of a sound size. Once connected, only what is encrypted may come, and the last flight
 * again: a new handshake would undo the first.
 */
export function isSound(data: Buffer, isConnected: boolean): boolean {
  if (data.length === 0) return false;
  for (let at = 0; at < data.length; ) {
    if (at + RECORD_HEADER_BYTES > data.length) return false;
    const end = at + RECORD_HEADER_BYTES + data.readUInt16BE(at + 11);
    if (end > data.length) return false;
    if (!isSoundRecord(data, at, end, isConnected)) return false;
    at = end;
  }
  return true;
}

function isSoundRecord(data: Buffer, at: number, end: number, isConnected: boolean): boolean {
  const isEncrypted = data.readUInt16BE(at + 3) > 0;
  if (isEncrypted) return true;
  if (data[at] === ALERT) return !isConnected;
  if (data[at] !== HANDSHAKE) return true;
  for (let message = at + RECORD_HEADER_BYTES; message < end; ) {
    if (message + MESSAGE_HEADER_BYTES > end) return false;
    if (data.readUIntBE(message + 1, 3) > MAX_MESSAGE_BYTES) return false;
    if (isConnected && data[message] === CLIENT_HELLO) return false;
    message += MESSAGE_HEADER_BYTES + data.readUIntBE(message + 9, 3);
    if (message > end) return false;
  }
  return true;
}

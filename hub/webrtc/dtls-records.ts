/** Looks at the records of a DTLS datagram (RFC 6347, 4.1) before the library does, which trusts the lengths in them. */
const RECORD_HEADER_BYTES = 13;
const MESSAGE_HEADER_BYTES = 12;
/** Certificates of browsers have less than 1 KB. */
const MAX_MESSAGE_BYTES = 16_384;
const ALERT = 21;
const HANDSHAKE = 22;

interface RecordPlace {
  readonly type: number;
  readonly isEncrypted: boolean;
  readonly begin: number;
  readonly end: number;
}

/** Null where one is not whole. */
function findRecords(data: Buffer): RecordPlace[] | null {
  const records: RecordPlace[] = [];
  for (let at = 0; at < data.length; ) {
    const begin = at + RECORD_HEADER_BYTES;
    if (begin > data.length) return null;
    const end = begin + data.readUInt16BE(at + 11);
    if (end > data.length) return null;
    records.push({ type: data[at] as number, isEncrypted: data.readUInt16BE(at + 3) > 0, begin, end });
    at = end;
  }
  return records;
}

/** During the handshake: whether every record is whole and of a sound size. */
export function isSound(data: Buffer): boolean {
  const records = findRecords(data) ?? [];
  return records.length > 0 && records.every((record) => isSoundRecord(data, record));
}

/**
 * After the handshake: `repeat` when the viewer sends its last flight again, for ours was lost; `alert` when it may be saying
 * good-bye. Nothing else has a meaning then: a new handshake would undo the first.
 */
export function readConnected(data: Buffer): "repeat" | "alert" | null {
  const records = findRecords(data) ?? [];
  if (records.some(({ type }) => type === HANDSHAKE)) return "repeat";
  const isAlert = records.length > 0 && records.every(({ type, isEncrypted }) => type === ALERT && isEncrypted);
  return isAlert ? "alert" : null;
}

function isSoundRecord(data: Buffer, { type, isEncrypted, begin, end }: RecordPlace): boolean {
  if (isEncrypted || type !== HANDSHAKE) return true;
  for (let message = begin; message < end; ) {
    if (message + MESSAGE_HEADER_BYTES > end) return false;
    if (data.readUIntBE(message + 1, 3) > MAX_MESSAGE_BYTES) return false;
    message += MESSAGE_HEADER_BYTES + data.readUIntBE(message + 9, 3);
    if (message > end) return false;
  }
  return true;
}

/** When an MP4 or QuickTime file was recorded, by its movie header (ISO/IEC 14496-12, 8.2.2). */

interface FileBytes {
  readonly bytes: number;
  /** Resolves with fewer bytes at the end of the file. */
  read(at: number, bytes: number): Promise<Buffer>;
}

/** Seconds from 1904, the epoch of the format, to 1970. */
const EPOCH_SECONDS = 2_082_844_800;
const MAX_BOXES = 1000;
/** Clocks that were never set say 1904, 1970 or 2000. */
const LEAST_MS = Date.UTC(2001, 0, 1);
const MOST_MS = Date.UTC(2100, 0, 1);

/** Null: it does not say, or its clock was not set. Reads headers of boxes only. */
export async function findCreationTime(file: FileBytes): Promise<Date | null> {
  const movie = await findBox(file, "moov", 0, file.bytes);
  const header = movie === null ? null : await findBox(file, "mvhd", movie.from, movie.to);
  if (header === null) return null;
  const content = await file.read(header.from, 12);
  if (content.length < 12) return null;
  const seconds = content[0] === 1 ? Number(content.readBigUInt64BE(4)) : content.readUInt32BE(4);
  const ms = (seconds - EPOCH_SECONDS) * 1000;
  return ms > LEAST_MS && ms < MOST_MS ? new Date(ms) : null;
}

async function findBox(
  file: FileBytes,
  type: string,
  from: number,
  to: number,
): Promise<{ from: number; to: number } | null> {
  let at = from;
  for (let count = 0; count < MAX_BOXES && at + 8 <= to; count++) {
    const head = await file.read(at, 16);
    if (head.length < 8) return null;
    const short = head.readUInt32BE(0);
    const isLong = short === 1 && head.length === 16;
    const size = isLong ? Number(head.readBigUInt64BE(8)) : short === 0 ? to - at : short;
    const headBytes = isLong ? 16 : 8;
    if (size < headBytes || at + size > to) return null;
    if (head.toString("latin1", 4, 8) === type) return { from: at + headBytes, to: at + size };
    at += size;
  }
  return null;
}

/** What travels in chunks. */
export interface Message {
  readonly type: number;
  /** 0 for the connection itself, else what `createStream` gave. */
  readonly streamId: number;
  /** Milliseconds, 32 bits, wraps after 49 days. */
  readonly timestamp: number;
  readonly body: Buffer;
}

export const MESSAGE = {
  setChunkSize: 1,
  abort: 2,
  acknowledgement: 3,
  userControl: 4,
  windowSize: 5,
  peerBandwidth: 6,
  audio: 8,
  video: 9,
  /** AMF0, and the same behind one byte of AMF3. */
  commandAmf3: 17,
  data: 18,
  command: 20,
} as const;

/** Events of `userControl`. */
export const EVENT = { streamBegin: 0, pingRequest: 6, pingResponse: 7 } as const;

/** Chunk streams: 2 is for control; the others are free, but these are what others use, too. */
export const CHUNK_STREAM = { control: 2, command: 3, audio: 4, data: 5, video: 6 } as const;

export const FIRST_CHUNK_SIZE = 128;

/** What a viewer is sent, piece by piece. */
export interface Pieces {
  /** The next one, whenever there is one; null at the end. */
  next(): Promise<Uint8Array | null>;
  /** The viewer has gone, or everything was sent. May be called more than once. */
  leave(): void;
}

interface Stall {
  readonly afterMs: number;
  /** Nothing was taken for that long: ends the connection. */
  drop(): void;
}

/**
 * The body of an answer that goes on. A piece is made when the client has taken the one before, so that what waits does so
 * in `pieces`, where it can be dropped, and not here.
 */
export function streamBody(pieces: Pieces, stall: Stall): ReadableStream<Uint8Array> {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const finish = () => {
    isOver = true;
    clearTimeout(timer);
    pieces.leave();
  };
  return new ReadableStream(
    {
      async pull(controller) {
        clearTimeout(timer);
        const piece = await pieces.next();
        if (isOver) return;
        if (piece === null) {
          finish();
          controller.close();
          return;
        }
        timer = setTimeout(() => {
          finish();
          stall.drop();
        }, stall.afterMs);
        controller.enqueue(piece);
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
}

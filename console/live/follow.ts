/** The events of several processes at once. */
import { EventReader, type ServerEvent } from "./read-events.ts";
import { stream } from "./stream.ts";

/** Browsers keep six connections to a server without HTTP/2; the page itself needs some of them. */
export const MOST_FOLLOWED = 4;

/** Of the first few of these processes. Returns how to stop. */
export function follow(
  processUuids: readonly string[],
  onEvent: (processUuid: string, event: ServerEvent) => void,
): () => void {
  const stops = processUuids.slice(0, MOST_FOLLOWED).map((uuid) =>
    stream({
      path: `/process/${uuid}/events`,
      open: () => {
        const events = new EventReader();
        return (piece) => {
          for (const event of events.read(piece)) onEvent(uuid, event);
        };
      },
      onTrouble: () => {},
    }),
  );
  return () => {
    for (const stop of stops) stop();
  };
}

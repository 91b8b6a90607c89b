/**
 * Viewers that were answered and are not connected yet. An offer costs its sender nothing, so of one client few are kept and
 * of one stream as many as it may have readers: the oldest of the client with the most gives way.
 */
export interface PendingViewer {
  readonly path: string;
  /** Undefined: not known. */
  readonly client: string | undefined;
  close(reason: string): void;
}

const MOST_PER_CLIENT = 4;

export class PendingOffers<V extends PendingViewer> {
  readonly #mostPerStream: number;
  /** The oldest first. */
  readonly #pending = new Set<V>();

  constructor(mostPerStream: number) {
    this.#mostPerStream = mostPerStream;
  }

  add(viewer: V): void {
    this.#pending.add(viewer);
    const ofStream = [...this.#pending].filter(({ path }) => path === viewer.path);
    const own = ofStream.filter(({ client }) => client === viewer.client);
    if (viewer.client !== undefined && own.length > MOST_PER_CLIENT) own[0]?.close("the same client offered again");
    else if (ofStream.length > this.#mostPerStream)
      oldestOfHeaviest(ofStream)?.close("too many viewers were not connected yet");
  }

  /** It is connected, or closed. */
  remove(viewer: V): void {
    this.#pending.delete(viewer);
  }
}

function oldestOfHeaviest<V extends PendingViewer>(viewers: readonly V[]): V | undefined {
  const counts = new Map<string | undefined, number>();
  for (const { client } of viewers) counts.set(client, (counts.get(client) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return viewers.find(({ client }) => counts.get(client) === most);
}

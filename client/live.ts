/** Messages of running processes, as they are sent. For browsers, and Node from version 22 on. */

/** Messages that wait for a slow reader. The oldest are dropped: the newest say more about now. */
const MAX_WAITING = 256;

/**
 * Messages of `detection_data_url` or `drone_data_url` of a process, until it ends or the loop is left. Rejects if the
 * connection cannot be opened.
 */
export async function* readMessages<T = unknown>(
  url: string,
  { signal, WebSocket: Socket = globalThis.WebSocket }: { signal?: AbortSignal; WebSocket?: typeof WebSocket } = {},
): AsyncGenerator<T, void, void> {
  if (Socket === undefined) throw new Error("no WebSocket here: use Node 22 or newer, or pass one as an option");
  const socket = new Socket(url);
  const waiting: T[] = [];
  let wake: () => void = () => {};
  let fault: Error | null = null;
  let isOpen = true;
  let wasOpen = false;
  socket.onopen = () => {
    wasOpen = true;
  };
  socket.onmessage = ({ data }) => {
    waiting.push(JSON.parse(String(data)) as T);
    if (waiting.length > MAX_WAITING) waiting.shift();
    wake();
  };
  socket.onerror = () => {
    if (!wasOpen) fault = new Error("the connection was rejected, or the service cannot be reached");
  };
  socket.onclose = () => {
    isOpen = false;
    wake();
  };
  const abort = () => socket.close();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    for (;;) {
      signal?.throwIfAborted();
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (isOpen) await new Promise<void>((resolve) => (wake = resolve));
      else break;
    }
    if (fault !== null) throw fault;
  } finally {
    signal?.removeEventListener("abort", abort);
    socket.close();
  }
}

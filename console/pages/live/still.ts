/** A picture of a process that is taken anew now and then: one at a time for the whole page. */
import { useEffect, useState } from "preact/hooks";
import { html } from "../../html.ts";
import { takePicture } from "../../live/first-picture.ts";

const EVERY_MS = 5_000;

/** Each waits for the one before: connections of a browser to one service are few. */
let turn: Promise<unknown> = Promise.resolve();
const takeInTurn = (processUuid: string, gone: AbortSignal): Promise<string | null> => {
  const taken = turn.then(() => (gone.aborted ? null : takePicture(processUuid, gone).catch(() => null)));
  turn = taken;
  return taken;
};

export function Still({ processUuid, isRunning }: { processUuid: string; isRunning: boolean }) {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal: gone } = leaving;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last: string | null = null;
    const take = async (): Promise<void> => {
      const next = document.hidden || !isRunning ? null : await takeInTurn(processUuid, gone);
      if (gone.aborted) {
        if (next !== null) URL.revokeObjectURL(next);
        return;
      }
      if (next !== null) {
        if (last !== null) URL.revokeObjectURL(last);
        last = next;
        setAddress(next);
      }
      timer = setTimeout(take, EVERY_MS);
    };
    void take();
    return () => {
      leaving.abort();
      clearTimeout(timer);
      if (last !== null) URL.revokeObjectURL(last);
    };
  }, [processUuid, isRunning]);
  return address === null
    ? html`<div class="still" role="img" aria-label="No picture yet"></div>`
    : html`<img class="still" src=${address} alt="What it sees" />`;
}

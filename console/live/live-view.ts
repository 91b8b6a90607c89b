/**
 * The video of a process with boxes on it. Pictures and detections come by two streams and are joined by their time: a box
 * is only ever drawn on the picture it was found in.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { AlertEvent, DetectionMessage, StatsEvent } from "../../client/client.ts";
import { html } from "../html.ts";
import { ask } from "../session.ts";
import { Painter } from "./painter.ts";
import { Pairing } from "./pairing.ts";
import { EventReader } from "./read-events.ts";
import { PartReader } from "./read-parts.ts";
import { stream } from "./stream.ts";
import { whileSeen } from "./while-seen.ts";

export interface LiveNews {
  onDetections?(message: DetectionMessage): void;
  onStats?(event: StatsEvent): void;
  onAlert?(event: AlertEvent): void;
  onState?(): void;
}

export interface LiveViewNeeds {
  readonly processUuid: string;
  /** Why no new picture comes, where that is known. */
  readonly note?: string | null;
  readonly news?: LiveNews;
}

export function LiveView({ processUuid, note = null, news = {} }: LiveViewNeeds) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const heard = useRef(news);
  heard.current = news;
  const [trouble, setTrouble] = useState<string | null>("Waiting for the first picture…");
  useEffect(() => {
    const pairing = new Pairing();
    const painter = new Painter(() => canvas.current);
    const path = `/process/${processUuid}`;
    const stopFeed = whileSeen(() =>
      stream({
        ask,
        path: `${path}/feed?overlay=none`,
        open: () => {
          const parts = new PartReader();
          return (piece) => {
            const pictures = parts.read(piece);
            if (pictures.length > 0) setTrouble(null);
            for (const picture of pictures) painter.paint(pairing.addPicture(picture));
          };
        },
        onTrouble: setTrouble,
      }),
    );
    const stopEvents = stream({
      ask,
      path: `${path}/events`,
      open: () => {
        const events = new EventReader();
        return (piece) => {
          for (const { event, data } of events.read(piece)) {
            const value = JSON.parse(data);
            if (event === "detections") {
              painter.paint(pairing.addDetections(value));
              heard.current.onDetections?.(value);
            }
            if (event === "stats") heard.current.onStats?.(value);
            if (event === "alert") heard.current.onAlert?.(value);
            if (event === "state") heard.current.onState?.();
          }
        };
      },
    });
    return () => {
      stopFeed();
      stopEvents();
    };
  }, [processUuid]);
  const words = note ?? trouble;
  return html`
    <figure class="live">
      <canvas ref=${canvas} role="img" aria-label="Live video with what was found" width="1280" height="720"></canvas>
      ${words !== null && html`<figcaption role="status">${words}</figcaption>`}
    </figure>
  `;
}

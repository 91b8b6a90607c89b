/**
 * The video of a process with boxes on it. Pictures and detections come by two streams and are joined by their time: a box
 * is only ever drawn on the picture it was found in.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { AlertEvent, DetectionMessage, StatsEvent } from "../../client/client.ts";
import { html } from "../html.ts";
import { drawBoxes } from "./draw-boxes.ts";
import { type Pair, Pairing } from "./pairing.ts";
import { EventReader } from "./read-events.ts";
import { PartReader } from "./read-parts.ts";
import { stream } from "./stream.ts";

export interface LiveNews {
  onDetections?(message: DetectionMessage): void;
  onStats?(event: StatsEvent): void;
  onAlert?(event: AlertEvent): void;
  onState?(): void;
}

export function LiveView({ processUuid, news = {} }: { processUuid: string; news?: LiveNews }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const heard = useRef(news);
  heard.current = news;
  const [trouble, setTrouble] = useState<string | null>("waiting for the first picture");
  useEffect(() => {
    const pairing = new Pairing();
    const painter = new Painter(() => canvas.current);
    const path = `/process/${processUuid}`;
    const stopFeed = stream({
      path: `${path}/feed?overlay=none`,
      open: () => {
        const parts = new PartReader();
        return (piece) => {
          for (const picture of parts.read(piece)) painter.paint(pairing.addPicture(picture));
        };
      },
      onTrouble: setTrouble,
    });
    const stopEvents = stream({
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
      onTrouble: () => {},
    });
    return () => {
      stopFeed();
      stopEvents();
    };
  }, [processUuid]);
  return html`
    <figure class="live">
      <canvas ref=${canvas} role="img" aria-label="Live video with what was found" width="1280" height="720"></canvas>
      ${trouble !== null && html`<figcaption role="status">${trouble}</figcaption>`}
    </figure>
  `;
}

/** One picture at a time; while one is being decoded, the latest of those that come waits and the others are left out. */
class Painter {
  readonly #canvas: () => HTMLCanvasElement | null;
  #waiting: Pair | null = null;
  #isBusy = false;

  constructor(canvas: () => HTMLCanvasElement | null) {
    this.#canvas = canvas;
  }

  paint(pairs: readonly Pair[]): void {
    this.#waiting = pairs.at(-1) ?? this.#waiting;
    if (!this.#isBusy) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let pair = this.#waiting; pair !== null; pair = this.#waiting) {
      this.#waiting = null;
      await this.#show(pair).catch(() => {});
    }
    this.#isBusy = false;
  }

  async #show({ picture, detections }: Pair): Promise<void> {
    const image = await createImageBitmap(new Blob([picture.jpeg as BlobPart], { type: "image/jpeg" }));
    const canvas = this.#canvas();
    const context = canvas?.getContext("2d");
    if (!canvas || !context) return image.close();
    if (canvas.width !== image.width || canvas.height !== image.height) {
      canvas.width = image.width;
      canvas.height = image.height;
    }
    context.drawImage(image, 0, 0);
    image.close();
    if (detections !== null) drawBoxes(context, detections);
    // What is shown, for whoever wants to know exactly.
    canvas.dataset.timestamp = picture.timestamp;
    canvas.dataset.tracks = String(detections?.active_tracks.length ?? "");
  }
}

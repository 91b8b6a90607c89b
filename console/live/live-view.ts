/**
 * The video of a process with bounding boxes. Frames and detections arrive by two streams and are matched by timestamp: a
 * box is drawn only on the frame it was detected in.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { AlertEvent, DetectionMessage, StatsEvent } from "../../client/client.ts";
import { html } from "../html.ts";
import { Painter } from "./painter.ts";
import { Pairing } from "./pairing.ts";
import { openEvents, openFeed } from "./process-streams.ts";

interface LiveViewProps {
  readonly processUuid: string;
  /** Why there are no new frames, by the state of the process. */
  readonly note: string | null;
  onDetections?(message: DetectionMessage): void;
  onStats?(event: StatsEvent): void;
  onAlert?(event: AlertEvent): void;
  onState?(): void;
}

export function LiveView({ processUuid, note, ...handlers }: LiveViewProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(handlers);
  latest.current = handlers;
  const [interruption, setInterruption] = useState<string | null>("Waiting for the first frame…");
  useEffect(() => {
    const pairing = new Pairing();
    const painter = new Painter(() => canvas.current);
    const closeFeed = openFeed(processUuid, {
      onItem: (frame) => {
        setInterruption(null);
        painter.paint(pairing.addFrame(frame));
      },
      onInterruption: setInterruption,
    });
    const closeEvents = openEvents(processUuid, ({ event, data }) => {
      const value = JSON.parse(data);
      if (event === "detections") {
        painter.paint(pairing.addDetections(value));
        latest.current.onDetections?.(value);
      }
      if (event === "stats") latest.current.onStats?.(value);
      if (event === "alert") latest.current.onAlert?.(value);
      if (event === "state") latest.current.onState?.();
    });
    return () => {
      closeFeed();
      closeEvents();
    };
  }, [processUuid]);
  const text = note ?? interruption;
  return html`
    <figure class="live">
      <canvas ref=${canvas} role="img" aria-label="Live video with detections" width="1280" height="720"></canvas>
      ${text !== null && html`<figcaption role="status">${text}</figcaption>`}
    </figure>
  `;
}

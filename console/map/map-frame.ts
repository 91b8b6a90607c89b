/** The map on a page: its canvas, its buttons, and who made its background. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { MapSettings } from "../../client/client.ts";
import { useQuery, whenLoaded } from "../components/query.ts";
import { html } from "../html.ts";
import { windhover } from "../session.ts";
import { splitAttribution } from "./attribution.ts";
import { MapView } from "./map-view.ts";
import type { Scene } from "./scene.ts";

interface FrameProps {
  readonly scene: Scene;
  readonly label: string;
  readonly class?: string;
  /** Called with the map, and with null when it is removed. */
  readonly onView?: (view: MapView | null) => void;
  /** Above the map. */
  readonly children?: ComponentChildren;
}

export function MapFrame(props: FrameProps) {
  const query = useQuery((signal) => windhover.readMap({ signal }), []);
  return html`${whenLoaded(query, (settings) => html`<${OpenMap} ...${props} settings=${settings} />`)}`;
}

function OpenMap({
  scene,
  label,
  class: className = "",
  onView,
  children,
  settings,
}: FrameProps & { settings: MapSettings }) {
  const container = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<MapView | null>(null);
  useEffect(() => {
    if (container.current === null || canvas.current === null) return undefined;
    const opened = new MapView(container.current, canvas.current, scene, settings);
    view.current = opened;
    onView?.(opened);
    let frame = 0;
    const draw = (): void => {
      frame = requestAnimationFrame(draw);
      opened.draw();
    };
    draw();
    return () => {
      cancelAnimationFrame(frame);
      onView?.(null);
      view.current = null;
      opened.close();
    };
  }, []);
  const attribution = settings.tiles?.attribution ?? "";
  return html`
    <div class=${`map ${className} ${settings.terrain !== null && settings.tiles === null ? "shaded" : ""}`}>
      <div class="view" ref=${container} role="application" aria-roledescription="map"
        aria-label=${`${label} Arrow keys move it, plus and minus zoom, 0 shows all.`}></div>
      <canvas ref=${canvas} aria-hidden="true"></canvas>
      ${children}
      <div class="row tools">
        <button type="button" aria-label="Zoom in" onClick=${() => view.current?.zoom(1)}>+</button>
        <button type="button" aria-label="Zoom out" onClick=${() => view.current?.zoom(-1)}>−</button>
        <button type="button" onClick=${() => view.current?.showAll()}>Show all</button>
      </div>
      ${attribution !== "" && html`<p class="attribution">${splitAttribution(toText(attribution)).map(({ text, isLink }) => (isLink ? html`<a href=${text} target="_blank" rel="noopener">${text}</a> ` : `${text} `))}</p>`}
    </div>
  `;
}

/** Files of tiles have HTML. */
const toText = (markup: string): string => new DOMParser().parseFromString(markup, "text/html").body.textContent ?? "";

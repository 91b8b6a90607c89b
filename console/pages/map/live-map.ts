/** The map of some processes, as their events come. It is drawn again only when there is something new to see. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { html } from "../../html.ts";
import { Follower, MOST_FOLLOWED } from "../../live/follow.ts";
import { drawMap } from "./draw-map.ts";
import { makeHands } from "./hands.ts";
import { fit, type Look, type Size } from "./look.ts";
import { Places } from "./places.ts";
import { Scene } from "./scene.ts";

const WORDS_EVERY_MS = 1_000;

/** What is on the canvas, and what should be. */
class Picture {
  readonly scene = new Scene();
  look: Look | null = null;
  isFitting = true;
  #drawn = "";
  #looked: Look | null = null;
  #count = 0;

  /** Nothing happens while everything is as it was. */
  draw(canvas: HTMLCanvasElement): void {
    const size = sizeOf(canvas);
    const state = [
      this.scene.version,
      size.width,
      size.height,
      devicePixelRatio,
      document.documentElement.dataset.theme,
    ];
    const wanted = state.join(" ");
    if (wanted === this.#drawn && this.look === this.#looked && !(this.isFitting && this.look === null)) return;
    if (this.isFitting || this.look === null) this.look = fit(this.scene, size);
    if (this.look === null) return;
    [this.#drawn, this.#looked] = [wanted, this.look];
    drawMap(canvas, this.scene, this.look);
    // For whoever asks whether the page does too much.
    canvas.dataset.drawn = String(++this.#count);
  }

  change(canvas: HTMLCanvasElement | null, next: (look: Look, size: Size) => Look): void {
    if (this.look === null || canvas === null) return;
    this.isFitting = false;
    this.look = next(this.look, sizeOf(canvas));
  }

  showAll(): void {
    this.isFitting = true;
    this.#drawn = "";
  }
}

const sizeOf = ({ clientWidth, clientHeight }: HTMLCanvasElement): Size => ({
  width: clientWidth,
  height: clientHeight,
});

/** `uuids`: of processes, with spaces between them. */
export function LiveMap({ uuids }: { uuids: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useMemo(() => new Picture(), []);
  const [, setShown] = useState(-1);
  const { scene } = picture;
  const follower = useMemo(
    () =>
      new Follower((uuid, { event, data }) => {
        if (event === "detections") scene.addDetections(JSON.parse(data), performance.now());
        if (event === "drone") scene.addDrone(uuid, JSON.parse(data));
      }),
    [scene],
  );
  useEffect(() => {
    const processes = uuids.split(" ");
    scene.keep(processes);
    follower.follow(processes);
  }, [uuids, follower, scene]);
  useEffect(() => {
    let frame = 0;
    const draw = (): void => {
      frame = requestAnimationFrame(draw);
      if (canvas.current !== null) picture.draw(canvas.current);
    };
    draw();
    const timer = setInterval(() => {
      scene.forget(performance.now());
      setShown(scene.version);
    }, WORDS_EVERY_MS);
    return () => {
      cancelAnimationFrame(frame);
      clearInterval(timer);
      follower.close();
    };
  }, [picture, scene, follower]);
  const hands = useMemo(
    () =>
      makeHands({
        canvas: () => canvas.current,
        change: (next) => picture.change(canvas.current, next),
        showAll: () => picture.showAll(),
      }),
    [picture],
  );
  const left = uuids.split(" ").length - MOST_FOLLOWED;
  const isEmpty = scene.cameras.size + scene.tracks.size === 0;
  return html`
    <div class="map">
      <canvas ref=${canvas} tabindex="0" role="application" aria-roledescription="map" ...${hands.on}
        aria-label="Map of tracks and cameras. Arrow keys move it, plus and minus zoom, 0 shows all."></canvas>
      ${isEmpty && html`<p class="over" role="status">Nothing has a place yet. Places come with telemetry of the camera.</p>`}
      <div class="row tools">
        <button type="button" aria-label="Closer" onClick=${() => hands.zoom(0.7)}>+</button>
        <button type="button" aria-label="Further" onClick=${() => hands.zoom(1.4)}>−</button>
        <button type="button" onClick=${() => picture.showAll()}>Show all</button>
      </div>
    </div>
    ${left > 0 && html`<p class="hint">Of the ${MOST_FOLLOWED} newest processes; ${left} more run.</p>`}
    <${Places} scene=${scene} />
  `;
}

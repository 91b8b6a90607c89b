/**
 * A map by Leaflet, and above it the canvas of a scene. Leaflet and not MapLibre GL JS: backgrounds are raster tiles, for
 * which it needs neither WebGL (servers and old machines have none) nor workers, at a fifth of the size. BSD-2-Clause.
 */
import * as L from "leaflet";
import type { MapSettings } from "../../client/client.ts";
import { drawScene, type Pixel, type Projection } from "./draw-scene.ts";
import { KeyTiles } from "./key-tiles.ts";
import { type Bounds, boundsOf, nearLongitude, needsFit } from "./positions.ts";
import type { Position, Scene } from "./scene.ts";

const MAX_ZOOM = 24;
/** Of a scene that is shown as a whole: a track alone would fill the map. */
const MAX_FITTED_ZOOM = 21;
const FIT_PADDING: L.PointTuple = [40, 40];
const EQUATOR_M = 40_075_017;
const MOVING_KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "+", "=", "-"]);

export class MapView {
  readonly #scene: Scene;
  readonly #map: L.Map;
  readonly #container: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #hasGrid: boolean;
  readonly #observer: ResizeObserver;
  /** Until the user moves the map. */
  #isFitting = true;
  /** Before the first scene, there is nothing to show. */
  #hasView = false;
  #mustFit = true;
  #fittedVersion = -1;
  #drawnState = "";
  #count = 0;

  /** `container` is empty, and the canvas covers it. */
  constructor(container: HTMLElement, canvas: HTMLCanvasElement, scene: Scene, { tiles, terrain }: MapSettings) {
    this.#scene = scene;
    this.#container = container;
    this.#canvas = canvas;
    this.#hasGrid = tiles === null;
    this.#map = L.map(container, {
      ...{ attributionControl: false, zoomControl: false, maxZoom: MAX_ZOOM, worldCopyJump: false },
      // The scene is drawn after a movement, not during an animation. Tiles have seams between whole zooms.
      ...{ zoomAnimation: false, fadeAnimation: false, zoomSnap: tiles === null && terrain === null ? 0.25 : 1 },
    });
    L.control.scale({ imperial: false }).addTo(this.#map);
    if (tiles !== null) this.#addTiles(tiles);
    if (terrain !== null) {
      const { url, min_zoom: minZoom, max_zoom: maxNativeZoom } = terrain;
      this.#map.addLayer(new KeyTiles(url, { ...{ minZoom, maxNativeZoom, maxZoom: MAX_ZOOM }, className: "terrain" }));
    }
    const stopFitting = (): void => {
      this.#isFitting = false;
    };
    this.#map.on("dragstart", stopFitting);
    container.addEventListener("wheel", stopFitting, { passive: true });
    container.addEventListener("keydown", (event) => {
      if (MOVING_KEYS.has(event.key)) stopFitting();
      if (event.key === "0" || event.key === "Home") this.showAll();
    });
    this.#observer = new ResizeObserver(() => this.#map.invalidateSize({ pan: false }));
    this.#observer.observe(container);
  }

  /** Does nothing while everything is unchanged. */
  draw(): void {
    this.#fit();
    if (!this.#hasView) return;
    const { lat, lng } = this.#map.getCenter();
    const { x, y } = this.#map.getSize();
    const { theme } = document.documentElement.dataset;
    const state = [this.#scene.version, lat, lng, this.#map.getZoom(), x, y, devicePixelRatio, theme].join(" ");
    if (state === this.#drawnState) return;
    this.#drawnState = state;
    drawScene(this.#canvas, this.#scene, { projection: this.#project(), hasGrid: this.#hasGrid });
    // For tests.
    this.#container.dataset.drawn = String(++this.#count);
  }

  zoom(by: 1 | -1): void {
    this.#isFitting = false;
    if (this.#hasView) this.#map.setZoom(this.#map.getZoom() + by);
  }

  showAll(): void {
    this.#isFitting = true;
    this.#mustFit = true;
    this.#fittedVersion = -1;
    this.#drawnState = "";
  }

  /** The position where the user clicks. */
  onClick(handle: (position: Position) => void): void {
    this.#map.on("click", ({ latlng }) => handle(toPosition(latlng)));
  }

  get centre(): Position | null {
    return this.#hasView ? toPosition(this.#map.getCenter()) : null;
  }

  close(): void {
    this.#observer.disconnect();
    this.#map.remove();
  }

  #addTiles({ url, min_zoom: minZoom, max_zoom: maxNativeZoom }: NonNullable<MapSettings["tiles"]>): void {
    const options = { minZoom, maxNativeZoom, maxZoom: MAX_ZOOM, className: "background" };
    // Providers of tiles want to know where they are shown; the address of the page is not their business.
    const layer = url.startsWith("/")
      ? new KeyTiles(url, options)
      : L.tileLayer(url, { ...options, referrerPolicy: "origin" });
    this.#map.addLayer(layer);
  }

  /** Moves the view if the scene has left it. */
  #fit(): void {
    if (!this.#isFitting || this.#scene.version === this.#fittedVersion) return;
    const bounds = boundsOf(this.#scene);
    // Not `getSize`, which keeps the first size until there is a view.
    const { clientWidth, clientHeight } = this.#container;
    if (bounds === null || clientWidth === 0 || clientHeight === 0) return;
    this.#fittedVersion = this.#scene.version;
    if (this.#hasView && !this.#mustFit && !needsFit(bounds, this.#bounds)) return;
    const { south, west, north, east } = bounds;
    [this.#hasView, this.#mustFit] = [true, false];
    this.#map.fitBounds(
      [
        [south, west],
        [north, east],
      ],
      { animate: false, padding: FIT_PADDING, maxZoom: MAX_FITTED_ZOOM },
    );
  }

  get #bounds(): Bounds {
    const bounds = this.#map.getBounds();
    return { south: bounds.getSouth(), west: bounds.getWest(), north: bounds.getNorth(), east: bounds.getEast() };
  }

  #project(): Projection {
    const { lat, lng } = this.#map.getCenter();
    return {
      bounds: this.#bounds,
      metresPerPixel: (EQUATOR_M * Math.cos((lat * Math.PI) / 180)) / 256 / 2 ** this.#map.getZoom(),
      toPixel: ({ latitude, longitude }): Pixel => {
        const { x, y } = this.#map.latLngToContainerPoint([latitude, nearLongitude(longitude, lng)]);
        return [x, y];
      },
    };
  }
}

/** Beyond the date line, the longitude of the other side. */
const toPosition = ({ lat, lng }: L.LatLng): Position => ({ latitude: lat, longitude: nearLongitude(lng, 0) });

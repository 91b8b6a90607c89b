/** Compares the pictures and boxes of the console's live view with the messages and the feed of the service. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import type { DetectionMessage, TrackEntry } from "../../client/client.ts";
import { trackColour } from "../../console/components/format.ts";
import { EventParser, FeedParser } from "../../console/live/parsers.ts";
import { MASTER_KEY, type TestService } from "../api/service.fixture.ts";
import { poll } from "../watch.fixture.ts";

const IN_PAGE = readFileSync(fileURLToPath(new URL("live-view.js", import.meta.url)), "utf8");

export type Colour = readonly [number, number, number];
export type Point = readonly [number, number];

export interface ShownFrame {
  readonly timestamp: string;
  /** Number of drawn boxes; empty: no inference on this frame. */
  readonly tracks: string;
}

/** Resolves with the next pictures that the page shows, which it keeps for `readShown`. */
export async function keepShown(page: Page, count: number): Promise<readonly ShownFrame[]> {
  await page.evaluate(IN_PAGE);
  return page.evaluate(`keepShown(${count})`);
}

const call = <T>(page: Page, name: string, ...values: readonly unknown[]): Promise<T> =>
  page.evaluate(`${name}(${values.map((value) => JSON.stringify(value)).join(", ")})`);

export const readShown = (page: Page, timestamp: string, points: readonly Point[]): Promise<readonly Colour[]> =>
  call(page, "readShown", timestamp, points);

export const readPicture = (
  page: Page,
  timestamp: string,
  jpeg: Uint8Array,
  points: readonly Point[],
): Promise<readonly Colour[]> => call(page, "readPicture", timestamp, Buffer.from(jpeg).toString("base64"), points);

export const toRgb = (page: Page, css: string): Promise<Colour> => call(page, "toRgb", css);

/** A second viewer next to the page: all messages and pictures of a process. */
export class Viewer {
  readonly messages = new Map<string, DetectionMessage>();
  readonly pictures = new Map<string, Uint8Array>();
  readonly #ending = new AbortController();

  constructor(service: TestService, processUuid: string) {
    const events = new EventParser();
    const parts = new FeedParser();
    this.#receive(`${service.url}/process/${processUuid}/events`, (piece) => {
      for (const { event, data } of events.push(piece)) {
        if (event !== "detections") continue;
        const message = JSON.parse(data) as DetectionMessage;
        this.messages.set(message.timestamp, message);
      }
    });
    this.#receive(`${service.url}/process/${processUuid}/feed?overlay=none`, (piece) => {
      for (const { timestamp, jpeg } of parts.push(piece)) this.pictures.set(timestamp, jpeg);
    });
  }

  #receive(url: string, handle: (piece: Uint8Array) => void): void {
    const { signal } = this.#ending;
    const run = async (): Promise<void> => {
      const answer = await fetch(url, { signal, headers: { api_key: MASTER_KEY } });
      assert.ok(answer.ok && answer.body !== null, `${url}: ${answer.status}`);
      for await (const piece of answer.body) handle(piece);
    };
    run().catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  /** The message of a frame. */
  messageOf(timestamp: string): Promise<DetectionMessage> {
    return poll(`the message of ${timestamp}`, () => this.messages.get(timestamp) ?? null);
  }

  stop(): void {
    this.#ending.abort();
  }
}

type Box = TrackEntry["scaled_bbox"];

/** Text colour of labels, which are drawn above all boxes. */
const INK: Colour = [16, 21, 28];
/** Tolerances per channel, of 255. */
const NEAR = { box: 6, blended: 24, picture: 8 };

const isNear = (one: Colour, other: Colour, most: number): boolean =>
  one.every((value, i) => Math.abs(value - (other[i] ?? 0)) <= most);
/** Whether a pixel belongs to a label of this colour, including antialiased text. */
function isLabel(point: Colour, colour: Colour): boolean {
  const mixed = steps(16).map(
    (share) => INK.map((ink, i) => ink + share * ((colour[i] ?? 0) - ink)) as unknown as Colour,
  );
  return [colour, INK, ...mixed].some((one) => isNear(point, one, NEAR.blended));
}

const steps = (count: number) => Array.from({ length: count }, (_, i) => (i + 0.5) / count);

/** Points along the four edges, inside the picture. */
function edgesOf([x, y, wide, high]: Box): readonly Point[] {
  const sides = steps(12).flatMap((step): Point[] => [
    ...[x, x + wide].map((at): Point => [at, y + step * high]),
    ...[y, y + high].map((at): Point => [x + step * wide, at]),
  ]);
  return sides.filter(([left, top]) => left > 0.005 && left < 0.995 && top > 0.005 && top < 0.995);
}

const insideOf = ([x, y, wide, high]: Box): readonly Point[] =>
  steps(5).flatMap((across) =>
    steps(8).map((down): Point => [x + (0.2 + across * 0.6) * wide, y + (0.2 + down * 0.6) * high]),
  );

export interface EdgeCheck {
  readonly trackId: number;
  /** Points of its edges that are not covered by a label or another box. */
  readonly seen: number;
  /** Points with the colour of the track. */
  readonly right: number;
}

export async function checkEdges(page: Page, { timestamp, active_tracks }: DetectionMessage): Promise<EdgeCheck[]> {
  const colours = await Promise.all(active_tracks.map(({ track_id }) => toRgb(page, trackColour(track_id))));
  return Promise.all(
    active_tracks.map(async ({ track_id, scaled_bbox }, i) => {
      const own = colours[i] ?? INK;
      const points = await readShown(page, timestamp, edgesOf(scaled_bbox));
      const seen = points.filter(
        (point) => isNear(point, own, NEAR.box) || !colours.some((colour) => isLabel(point, colour)),
      );
      const right = seen.filter((point) => isNear(point, own, NEAR.box));
      return { trackId: track_id, seen: seen.length, right: right.length };
    }),
  );
}

/** The colours of points inside the boxes, as they are shown and in this picture. */
async function readInside(page: Page, { timestamp, active_tracks }: DetectionMessage, jpeg: Uint8Array) {
  const points = active_tracks.flatMap(({ scaled_bbox }) => insideOf(scaled_bbox));
  const [shown, picture] = await Promise.all([
    readShown(page, timestamp, points),
    readPicture(page, timestamp, jpeg, points),
  ]);
  return { shown, picture };
}

/** Share of points inside the boxes that are equal in this picture, from 0 to 1. */
export async function measureLikeness(page: Page, message: DetectionMessage, jpeg: Uint8Array): Promise<number> {
  const { shown, picture } = await readInside(page, message, jpeg);
  return shown.filter((colour, i) => isNear(colour, picture[i] ?? INK, NEAR.picture)).length / shown.length;
}

/**
 * Mean difference of points inside the boxes, of 255. Independent of an offset of the colours: decoders convert them
 * differently.
 */
export async function measureDistance(page: Page, message: DetectionMessage, jpeg: Uint8Array): Promise<number> {
  const { shown, picture } = await readInside(page, message, jpeg);
  const differences = shown.map((colour, i) => luma(colour) - luma(picture[i] ?? INK));
  const offset = differences.reduce((sum, one) => sum + one, 0) / differences.length;
  return differences.reduce((sum, one) => sum + Math.abs(one - offset), 0) / differences.length;
}

const luma = ([red, green, blue]: Colour): number => 0.299 * red + 0.587 * green + 0.114 * blue;

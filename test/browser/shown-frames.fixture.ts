/** What the live view of the console shows, beside what the service says of the same moments. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import type { DetectionMessage } from "../../client/client.ts";
import { EventParser, FeedParser } from "../../console/live/parsers.ts";
import { MASTER_KEY, type TestService } from "../api/service.fixture.ts";

const IN_PAGE = readFileSync(fileURLToPath(new URL("shown-frames.js", import.meta.url)), "utf8");
const POLLS = 600;
const POLL_MS = 50;

export type Colour = readonly [number, number, number];
export type Point = readonly [number, number];

export interface ShownFrame {
  readonly timestamp: string;
  /** Boxes that were drawn; empty: nobody looked at it. */
  readonly tracks: string;
}

/** The next so many pictures that the page shows. */
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

/** All that the service tells of a process while this looks: another viewer beside the page. */
export class Witness {
  readonly messages = new Map<string, DetectionMessage>();
  readonly pictures = new Map<string, Uint8Array>();
  readonly #ending = new AbortController();

  constructor(service: TestService, processUuid: string) {
    const events = new EventParser();
    const parts = new FeedParser();
    this.#follow(`${service.url}/process/${processUuid}/events`, (piece) => {
      for (const { event, data } of events.push(piece)) {
        if (event !== "detections") continue;
        const message = JSON.parse(data) as DetectionMessage;
        this.messages.set(message.timestamp, message);
      }
    });
    this.#follow(`${service.url}/process/${processUuid}/feed?overlay=none`, (piece) => {
      for (const { timestamp, jpeg } of parts.push(piece)) this.pictures.set(timestamp, jpeg);
    });
  }

  #follow(url: string, take: (piece: Uint8Array) => void): void {
    const { signal } = this.#ending;
    const run = async (): Promise<void> => {
      const answer = await fetch(url, { signal, headers: { api_key: MASTER_KEY } });
      assert.ok(answer.ok && answer.body !== null, `${url}: ${answer.status}`);
      for await (const piece of answer.body) take(piece);
    };
    run().catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  /** What was found at this very moment. */
  async messageOf(timestamp: string): Promise<DetectionMessage> {
    for (let i = 0; i < POLLS; i++) {
      const message = this.messages.get(timestamp);
      if (message !== undefined) return message;
      await wait(POLL_MS);
    }
    return assert.fail(`the service told nothing of ${timestamp}`);
  }

  stop(): void {
    this.#ending.abort();
  }
}

/** A headless browser, and the time codes of the frames that it presents. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { ageMs, readTimeCode } from "./time-code.ts";

const IN_PAGE = fileURLToPath(new URL("in-page.js", import.meta.url));
/** Turns a hang into a failure. */
const LIMIT_MS = 60_000;

export interface ShownFrame {
  /** By the browser's clock, which is ours. */
  readonly atMs: number;
  /** Null if it was unreadable. */
  readonly code: number | null;
  /** Frames presented so far. */
  readonly count: number;
  readonly width: number;
}

/** The first has no windows, and takes half of the processor time of the second, which other systems than Debian have. */
const PROGRAMS = ["chromium-headless-shell", "chromium"];

export async function launchChromium(): Promise<Browser> {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const executablePath = PROGRAMS.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (executablePath === undefined) throw new Error("chromium is not installed; npm test installs it on Debian");
  // Tests may run as root, where Chromium has no sandbox; the pages are trusted.
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--autoplay-policy=no-user-gesture-required"];
  return chromium.launch({ executablePath, args });
}

/** Otherwise a page that waits is drawn 60 times a second, for the ring that turns on it. */
const OPTIONS = { reducedMotion: "reduce" } as const;

/**
 * Pages of one browser context: to open a page in a new one takes three times the processor time. They share cookies, local
 * storage and the six connections to a host.
 */
export class HeadlessBrowser {
  readonly #context: BrowserContext;
  readonly #close: () => Promise<void>;
  /** Script errors and violations of the content security policy. */
  readonly complaints: string[] = [];
  /** All requested URLs. */
  readonly requested: string[] = [];
  /** Those without a complete response. */
  readonly failed: string[] = [];

  private constructor(context: BrowserContext, close: () => Promise<void>) {
    this.#context = context;
    this.#close = close;
  }

  static async open(): Promise<HeadlessBrowser> {
    const browser = await launchChromium();
    return new HeadlessBrowser(await browser.newContext(OPTIONS), () => browser.close());
  }

  /** In a browser that others use, too; it stays open. `release` is called once, when all pages are closed. */
  static async openIn(browser: Browser, release: () => void): Promise<HeadlessBrowser> {
    const context = await browser.newContext(OPTIONS);
    return new HeadlessBrowser(context, () => context.close().finally(release));
  }

  /** Forgets the cookies of all pages. */
  clearCookies(): Promise<void> {
    return this.#context.clearCookies();
  }

  async show(url: string, { width = 960, height = 540 } = {}): Promise<Page> {
    const page = await this.#context.newPage();
    await page.setViewportSize({ width, height });
    page.setDefaultTimeout(LIMIT_MS);
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      if (!/Content Security Policy|Refused to/.test(message.text())) return;
      const { url, lineNumber, columnNumber } = message.location();
      this.complaints.push(`${page.url()}: ${message.text()} (${url}:${lineNumber}:${columnNumber})`);
    });
    page.on("request", (request) => this.requested.push(request.url()));
    page.on("requestfailed", (request) => this.failed.push(request.url()));
    await page.addInitScript({ path: IN_PAGE });
    await page.goto(url);
    return page;
  }

  close(): Promise<void> {
    return this.#close();
  }
}

export const untilState = async (page: Page, state: "live" | "wait" | "fault"): Promise<void> => {
  await page.waitForSelector(`body[data-state=${state}]`);
};

/** The next `count` frames that the page presents. */
export function watchFrames(page: Page, count: number): Promise<readonly ShownFrame[]> {
  const options = JSON.stringify({ count, reader: String(readTimeCode), limitMs: LIMIT_MS });
  return page.evaluate(`watchFrames(${options})`);
}

export const countSoundBytes = (page: Page): Promise<number> => page.evaluate("countSoundBytes()");

/** Median age of the frames when they were presented. */
export function medianAgeMs(frames: readonly ShownFrame[]): number {
  const ages = frames.flatMap(({ atMs, code }) => (code === null ? [] : [ageMs(atMs, code)])).sort((a, b) => a - b);
  return ages[ages.length >> 1] ?? Number.NaN;
}

/** One Chromium for all files that run in this process: it takes seconds of processor time to start one. */
import type { Browser } from "playwright-core";
import { HeadlessBrowser, launchChromium } from "../../tools/bench/media/browser.ts";

/** The next file of this process may need it. */
const LINGER_MS = 1_000;
const shared = { users: 0, browser: null as Promise<Browser> | null };

/** Pages, requests and complaints of its own; Chromium ends a moment after all of them are closed. */
export async function openBrowser(): Promise<HeadlessBrowser> {
  shared.users += 1;
  shared.browser ??= launchChromium();
  return HeadlessBrowser.openIn(await shared.browser, () => {
    shared.users -= 1;
    setTimeout(closeUnused, LINGER_MS);
  });
}

async function closeUnused(): Promise<void> {
  const { browser, users } = shared;
  if (browser === null || users > 0) return;
  shared.browser = null;
  await (await browser).close();
}

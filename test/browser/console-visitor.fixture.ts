/** Actions of a user of the console, and checks of a page in both themes. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import type { HeadlessBrowser } from "../../tools/bench/media/browser.ts";
import { MASTER_KEY } from "../api/service.fixture.ts";
import { testClip } from "../clips.fixture.ts";
import { repeatClip } from "../graph.fixture.ts";
import { keepFile } from "../kept-files.fixture.ts";

const FOLDER = fileURLToPath(new URL("../../build/screenshots/", import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Inference on every n-th frame: on each, it would take all processor time of the test machine. */
export const EVERY = 2;

/** In slow motion, people move as far between two inferences although these are rarer. */
export const SLOW = { times: 2, every: 4 } as const;

/**
 * A clip of people on a campus: 20 s of `vtest.avi`, or of its slow motion, again and again for minutes, with half of its frames
 * in half of its size. Each frame is decoded, encoded for viewers and drawn by the browser. Null without that clip.
 */
export async function makeCampus(folder: string, times = 1): Promise<string | null> {
  const real = testClip("vtest.avi");
  if (real === null) return null;
  const input = ["-t", String(20 / times), "-i", real, "-vf", `setpts=${times}*PTS,fps=5,scale=384:-2`];
  const codec = ["-c:v", "libx264", "-threads", "1", "-preset", "ultrafast", "-crf", "20", "-g", "10", "-bf", "0"];
  const words = [...input, ...codec, "-pix_fmt", "yuv420p"];
  const part = await keepFile([...words, "mp4"], async (path) => {
    await promisify(execFile)("ffmpeg", ["-v", "error", ...words, path]);
  });
  return repeatClip(part, 15, join(folder, "campus.mp4"));
}

const THEMES = ["light", "dark"] as const;
const HEIGHTS = { 360: 740, 390: 844, 1280: 800, 2560: 1440 } as const;
type Width = keyof typeof HEIGHTS;
const USUAL: Width = 1280;
/** Screenshots are slow and optional: `SCREENSHOTS=usual`, or `all` for every width. */
const { SCREENSHOTS } = process.env;
const WIDTHS: readonly Width[] = SCREENSHOTS === "all" ? [360, 2560, USUAL] : [USUAL];

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

export async function signIn(
  browser: HeadlessBrowser,
  serviceUrl: string,
  { key = MASTER_KEY, page: name = "" } = {},
): Promise<Page> {
  const page = await browser.show(`${serviceUrl}/console/${name}`, { width: USUAL, height: HEIGHTS[USUAL] });
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  return page;
}

/** By the navigation, or its menu. */
export async function goTo(page: Page, title: string): Promise<void> {
  const navigation = page.getByRole("navigation", { name: "Pages" });
  const link = navigation.getByRole("link", { name: title, exact: true });
  if ((await link.count()) === 0) await navigation.getByRole("button").click();
  await link.click();
  await page.getByRole("heading", { name: title, level: 1 }).waitFor();
}

/** Turns a hang into a failure. */
const LIMIT_MS = 60_000;
/** Not with every animation frame, which the browser would have to draw. */
const POLL_MS = 50;

/**
 * Until an expression, or the promise that it is, is true on the page. The security policy of the console forbids
 * Playwright's `waitForFunction`, and `evaluate` has no time limit of its own.
 */
export async function untilPage(page: Page, expression: string): Promise<void> {
  const isTrue = await page.evaluate(`new Promise((done, fail) => {
    const again = () => setTimeout(() => check().catch(fail), ${POLL_MS});
    const check = async () => ((await (${expression})) ? done(true) : again());
    check().catch(fail);
    setTimeout(() => done(false), ${LIMIT_MS});
  })`);
  const shown = isTrue ? "" : await page.evaluate("document.body.innerText");
  assert.ok(isTrue, `not true within ${LIMIT_MS / 1000} s: ${expression}\non the page:\n${shown}`);
}

/** In both themes: no accessibility violations, nothing wider than the page. Screenshots go to build/screenshots/. */
export async function photograph(page: Page, name: string, widths: readonly Width[] = WIDTHS): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of widths) {
      await page.setViewportSize({ width, height: HEIGHTS[width] });
      // The layout is settled after two animation frames.
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      const overflow = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
      assert.ok(Number(overflow) <= 0, `${name} is ${overflow} pixels wider than ${width}`);
      if (SCREENSHOTS !== undefined) await page.screenshot({ path: join(FOLDER, `${name}-${width}-${theme}.png`) });
    }
    assert.deepEqual(await findViolations(page, theme), [], `${name}, ${theme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** A theme changes only colours: everything else is checked once. */
async function findViolations(page: Page, theme: (typeof THEMES)[number]): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  const { violations } = (await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"], preload: false${theme === "dark" ? ', runOnly: ["color-contrast"]' : ""} })`,
  )) as {
    readonly violations: readonly Violation[];
  };
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ""}`));
}

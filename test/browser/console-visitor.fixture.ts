/** Somebody who uses the console: signs in, goes from page to page, and has their pictures taken. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import type { HeadlessBrowser } from "../../tools/bench/media/browser.ts";
import { MASTER_KEY } from "../api/service.fixture.ts";

const FOLDER = fileURLToPath(new URL("../../build/screenshots/", import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Which pictures a process looks at, here: looking at each would keep the machine from everything else. */
export const EVERY = 3;

const THEMES = ["light", "dark"] as const;
const HEIGHTS = { 360: 740, 1280: 800, 2560: 1440 } as const;
type Width = keyof typeof HEIGHTS;
const USUAL: Width = 1280;
/** Pictures are for people, and take their time: they are taken with `SCREENSHOTS=usual`, or `all` for every width. */
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

/** By the navigation, as people do. */
export async function goTo(page: Page, title: string): Promise<void> {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: title, exact: true }).click();
  await page.getByRole("heading", { name: title, level: 1 }).waitFor();
}

/** Until an expression holds on the page. Its own `waitForFunction` would be against the security policy of the console. */
export async function untilPage(page: Page, expression: string): Promise<void> {
  await page.evaluate(
    `new Promise((done) => { const look = () => (${expression}) ? done() : requestAnimationFrame(look); look(); })`,
  );
}

/** In both themes: nothing on the page keeps anybody out, and nothing is wider than the page. Pictures go to build/screenshots/. */
export async function photograph(page: Page, name: string): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHTS[width] });
      // Two pictures later everything has its place.
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      const spare = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
      assert.ok(Number(spare) <= 0, `${name} is ${spare} pixels wider than ${width}`);
      if (SCREENSHOTS !== undefined) await page.screenshot({ path: join(FOLDER, `${name}-${width}-${theme}.png`) });
    }
    assert.deepEqual(await findBarriers(page, theme), [], `${name}, ${theme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** What a theme changes are colours alone: everything else is looked at once. */
async function findBarriers(page: Page, theme: (typeof THEMES)[number]): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  const { violations } = (await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"]${theme === "dark" ? ', runOnly: ["color-contrast"]' : ""} })`,
  )) as {
    readonly violations: readonly Violation[];
  };
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ""}`));
}

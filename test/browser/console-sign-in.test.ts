/** Signing in to the console through a real identity provider, in a browser. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { CLIENT, openProvider } from "../../server/api/identity-provider.fixture.ts";
import { createKey, MASTER_KEY, TestService } from "../api/service.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";
import { goTo, photograph } from "./console-visitor.fixture.ts";

const PEOPLE = { ada: { roles: ["wh-operator"] }, eve: { roles: ["guest"] } };
const service: { url: string } = { url: "" };
const provider = await openProvider(PEOPLE, () => `${service.url}/sign_in/oidc/callback`);
const [running, browser] = await Promise.all([
  TestService.start({
    env: {
      ...{ WINDHOVER_OIDC_ISSUER: provider.issuer, WINDHOVER_OIDC_CLIENT_ID: CLIENT.id },
      ...{ WINDHOVER_OIDC_CLIENT_SECRET: CLIENT.secret, WINDHOVER_OIDC_NAME: "Example" },
      ...{ WINDHOVER_OIDC_OPERATORS: "wh-operator", WINDHOVER_OIDC_ACCOUNT: "acme" },
    },
  }),
  openBrowser(),
]);
service.url = running.url;
after(async () => {
  await browser.close();
  await running.close();
  await provider.close();
});
await createKey(running, "acme");

async function signIn(page: Page, login: string): Promise<void> {
  await page.getByRole("link", { name: "Sign in with Example" }).click();
  await page.locator("input[name=login]").fill(login);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByText("Authorize", { exact: true }).first().waitFor();
  await page.locator("button[type=submit]").click();
}

const show = () => browser.show(`${running.url}/console`, { width: 1280, height: 800 });
const navigation = (page: Page) => page.getByRole("navigation", { name: "Pages" });

test("a person signs in with the provider, stays signed in after a reload, and signs out", async () => {
  const page = await show();
  await page.getByRole("link", { name: "Sign in with Example" }).waitFor();
  await photograph(page, "sign-in-provider");
  await signIn(page, "ada");
  await navigation(page).waitFor();
  await page.getByText("ada", { exact: true }).waitFor();
  assert.equal(await page.evaluate("document.cookie"), "", "scripts cannot read the session");
  assert.equal(await page.evaluate("Object.keys(sessionStorage).includes('windhover-key')"), false);
  await goTo(page, "Sources");
  await page.reload();
  await navigation(page).waitFor();
  const { keys } = await running.expect<{ keys: { person: string | null; scopes: string[] }[] }>(200, "GET", "/keys", {
    key: await createKey(running, "reader", "--master", "acme"),
  });
  assert.deepEqual(
    keys.filter(({ person }) => person !== null),
    [],
    "a child does not see sessions of its master",
  );
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  await page.reload();
  await page.getByLabel("API key").waitFor();
  // With a key as before.
  await page.getByLabel("API key").fill(MASTER_KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await navigation(page).waitFor();
});

test("the sign-in page says why a person was not signed in", async () => {
  // The provider would remember the other person.
  await browser.clearCookies();
  const page = await show();
  await signIn(page, "eve");
  await page.getByRole("alert").getByText("have no role for this service").waitFor();
  assert.ok(!page.url().includes("sign_in="), page.url());
});

/** The frame around every page: where one is, who one is, and the way to the others. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.ts";
import { PAGES, type Page } from "./pages.ts";
import { Empty, Loading } from "./parts/states.ts";
import { Toasts } from "./parts/toasts.ts";
import { addressOf, place } from "./router.ts";
import { session, signOut } from "./session.ts";
import { SignIn } from "./sign-in.ts";
import { switchTheme, theme } from "./theme.ts";

export function App() {
  if (session.value === undefined) return html`<${Loading} what="Signing in" />`;
  if (session.value === null) return html`<${SignIn} /><${Toasts} />`;
  const [name = PAGES[0]?.name ?? ""] = place.value.parts;
  const page = PAGES.find((one) => one.name === name);
  return html`
    <a class="skip" href="#content">To the content</a>
    <header class="top">
      <a class="brand" href=${addressOf()}><img src="console/assets/icon.svg" alt="" width="28" height="28" /> Windhover</a>
      <nav aria-label="Pages">
        ${PAGES.map(
          (one) =>
            html`<a key=${one.name} href=${addressOf(one.name)} aria-current=${one.name === name ? "page" : undefined}>${one.title}</a>`,
        )}
      </nav>
      <div class="who">
        <button type="button" class="plain" onClick=${switchTheme}
          aria-label=${theme.value === "dark" ? "Light colours" : "Dark colours"}>${theme.value === "dark" ? "☀" : "☾"}</button>
        <span class="name">${session.value.login.username}</span>
        <button type="button" class="plain" onClick=${signOut}>Sign out</button>
      </div>
    </header>
    <main id="content" tabindex="-1">
      ${page === undefined ? html`<h1>There is no such page</h1><p><a href=${addressOf()}>To the first page</a></p>` : html`<${Loaded} key=${page.name} page=${page} />`}
    </main>
    <${Toasts} />
  `;
}

/** Pages come when they are first looked at: the first view stays small. */
function Loaded({ page }: { page: Page }) {
  const [Content, setContent] = useState<ComponentType | null>(null);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    page.load().then(
      (content) => setContent(() => content),
      () => setLost(true),
    );
  }, [page]);
  useEffect(() => {
    document.title = `${page.title} · Windhover`;
  }, [page]);
  if (isLost)
    return html`<${Empty} title="This page could not be loaded"><p>The service may have been updated. <a href=${window.location.href} target="_self">Load it again</a></p></${Empty}>`;
  return Content === null ? html`<${Loading} />` : html`<${Content} />`;
}

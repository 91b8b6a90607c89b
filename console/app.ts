/** Which page is shown, and who may see it. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Frame } from "./frame.ts";
import { html } from "./html.ts";
import { PAGES, type Page } from "./pages.ts";
import { Failed, Loading, NotLoaded } from "./parts/states.ts";
import { Toasts } from "./parts/toasts.ts";
import { addressOf, place } from "./router.ts";
import { resumeSession, session, sessionFault } from "./session.ts";
import { SignIn } from "./sign-in.ts";

export function App() {
  if (session.value === undefined) return html`<main><h1>Windhover</h1><${Resuming} /></main>`;
  if (session.value === null) return html`<${SignIn} /><${Toasts} />`;
  const [name = PAGES[0]?.name ?? ""] = place.value.parts;
  const page = PAGES.find((one) => one.name === name);
  return html`
    <${Frame} here=${name} />
    <main id="content" tabindex="-1">
      ${page === undefined ? html`<h1>There is no such page</h1><p><a href=${addressOf()}>To the first page</a></p>` : html`<${Loaded} key=${page.name} page=${page} />`}
    </main>
    <${Toasts} />
  `;
}

const Resuming = () =>
  sessionFault.value === null
    ? html`<${Loading} what="Signing in" />`
    : html`<${Failed} error=${sessionFault.value} onRetry=${() => void resumeSession()} />`;

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
  if (isLost) return html`<${NotLoaded} what="This page" />`;
  return Content === null ? html`<${Loading} />` : html`<${Content} />`;
}

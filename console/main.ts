/** The console: sign-in, or the header with the navigation and the current page below it. */
import { signal } from "@preact/signals";
import { type ComponentType, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Confirmation } from "./components/dialog.ts";
import { useSubmit } from "./components/form.ts";
import { Failed, Loading, NotLoaded } from "./components/states.ts";
import { Toasts } from "./components/toasts.ts";
import { html } from "./html.ts";
import { Navigation } from "./navigation.ts";
import { PAGES, type Page } from "./pages.ts";
import { focusContent, interceptLinks, linkTo, route } from "./router.ts";
import { provider, resumeSession, session, sessionError, signIn, signOut, signOutReason } from "./session.ts";

function App() {
  if (session.value === undefined) return html`<main><h1>Windhover</h1><${Resuming} /></main>`;
  if (session.value === null) return html`<${SignIn} /><${Toasts} />`;
  const [name = PAGES[0]?.name ?? ""] = route.value.segments;
  const page = PAGES.find((one) => one.name === name);
  return html`
    <${Header} current=${name} />
    <main id="content" tabindex="-1">
      ${page === undefined ? html`<h1>Page not found</h1><p><a href=${linkTo()}>Go to the start page</a></p>` : html`<${PageContent} key=${page.name} page=${page} />`}
    </main>
    <${Confirmation} />
    <${Toasts} />
  `;
}

const Resuming = () =>
  sessionError.value === null
    ? html`<${Loading} what="Signing in" />`
    : html`<${Failed} error=${sessionError.value} onRetry=${() => void resumeSession()} />`;

function SignIn() {
  const { error, isBusy, submit } = useSubmit(async (form) => {
    signOutReason.value = null;
    await signIn(String(form.get("key")).trim(), form.get("kept") !== null);
  });
  const message = error?.message ?? signOutReason.value;
  return html`
    <main class="sign-in" tabindex="-1">
      <form onSubmit=${submit}>
        <img src="console/assets/icon.svg" alt="" width="56" height="56" />
        <h1>Windhover</h1>
        <div class="unseen" aria-hidden="true"><input name="username" value="windhover" autocomplete="username" readonly tabindex="-1" /></div>
        <label>API key
          <input name="key" type="password" required autocomplete="current-password" autofocus spellcheck="false"
            aria-describedby="key-help" />
        </label>
        <p id="key-help" class="hint">The service printed a key on its first start. Create more with <code>npx windhover keys create</code>.</p>
        <label class="check"><input name="kept" type="checkbox" /> Stay signed in on this computer</label>
        ${message !== null && html`<p class="failed" role="alert">${message}</p>`}
        <button class="primary" disabled=${isBusy}>${isBusy ? "Signing in…" : "Sign in"}</button>
        ${provider.value !== null && html`<a class="button" href=${provider.value.url}>Sign in with ${provider.value.name}</a>`}
      </form>
    </main>
  `;
}

/** Pages load on first use: the initial download stays small. */
function PageContent({ page }: { page: Page }) {
  const [Content, setContent] = useState<ComponentType | null>(null);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    document.title = `${page.title} · Windhover`;
    page.load().then(
      (content) => setContent(() => content),
      () => setFailed(true),
    );
  }, [page]);
  if (hasFailed) return html`<${NotLoaded} what="This page" />`;
  return Content === null ? html`<${Loading} />` : html`<${Content} />`;
}

/** Not a link to `#content`: `<base>` would resolve it to another page. */
function skipToContent(event: Event): void {
  event.preventDefault();
  focusContent();
}

const Header = ({ current }: { current: string }) => html`
  <header class="top">
    <a class="skip" href=${window.location.href} onClick=${skipToContent}>Skip to content</a>
    <a class="brand" href=${linkTo()}><img src="console/assets/icon.svg" alt="" width="28" height="28" /> Windhover</a>
    <${Navigation} current=${current} />
    <div class="user">
      <button type="button" class="plain" onClick=${switchTheme}
        aria-label=${theme.value === "dark" ? "Light theme" : "Dark theme"}>${theme.value === "dark" ? "☀" : "☾"}</button>
      <span class="name">${session.value?.login.key.person ?? session.value?.login.username}</span>
      <button type="button" class="plain" onClick=${() => signOut()}>Sign out</button>
    </div>
  </header>
`;

const THEME_NAME = "windhover-theme";
const systemTheme = window.matchMedia("(prefers-color-scheme: dark)");
const theme = signal("light");

/** The theme of the system, unless the user has chosen one. */
function applyTheme(): void {
  const chosen = localStorage.getItem(THEME_NAME);
  const system = systemTheme.matches ? "dark" : "light";
  theme.value = chosen === "light" || chosen === "dark" ? chosen : system;
  document.documentElement.dataset.theme = theme.value;
}

function switchTheme(): void {
  localStorage.setItem(THEME_NAME, theme.value === "dark" ? "light" : "dark");
  applyTheme();
}

applyTheme();
systemTheme.addEventListener("change", applyTheme);
interceptLinks();
render(html`<${App} />`, document.body);
void resumeSession();

/** What every page has above it: where one is, who one is, and the way to the others. */
import { useEffect, useRef } from "preact/hooks";
import { html } from "./html.ts";
import { PAGES } from "./pages.ts";
import { addressOf, focusContent } from "./router.ts";
import { session, signOut } from "./session.ts";
import { switchTheme, theme } from "./theme.ts";

/** Not by the address: `<base>` would lead away from this page. */
function skip(event: Event): void {
  event.preventDefault();
  focusContent();
}

/** `here`: name of the page that is shown. */
export const Frame = ({ here }: { here: string }) => html`
  <header class="top">
    <a class="skip" href=${window.location.href} onClick=${skip}>To the content</a>
    <a class="brand" href=${addressOf()}><img src="console/assets/icon.svg" alt="" width="28" height="28" /> Windhover</a>
    <${Navigation} here=${here} />
    <div class="who">
      <button type="button" class="plain" onClick=${switchTheme}
        aria-label=${theme.value === "dark" ? "Light colours" : "Dark colours"}>${theme.value === "dark" ? "☀" : "☾"}</button>
      <span class="name">${session.value?.login.username}</span>
      <button type="button" class="plain" onClick=${() => signOut()}>Sign out</button>
    </div>
  </header>
`;

/** In the middle of what can be seen of the navigation. The page itself stays where it is. */
function showCurrent(nav: HTMLElement): void {
  const current = nav.querySelector<HTMLElement>("[aria-current]");
  if (current !== null)
    nav.scrollLeft = current.offsetLeft - nav.offsetLeft - (nav.clientWidth - current.offsetWidth) / 2;
}

function Navigation({ here }: { here: string }) {
  const list = useRef<HTMLElement>(null);
  // On a phone there is no room for all of them, and more or less of it when it is turned.
  useEffect(() => {
    const { current: nav } = list;
    if (nav === null) return undefined;
    const observer = new ResizeObserver(() => showCurrent(nav));
    observer.observe(nav);
    return () => observer.disconnect();
  }, [here]);
  return html`
    <nav ref=${list} aria-label="Pages">
      ${PAGES.map(
        ({ name, title }) =>
          html`<a key=${name} href=${addressOf(name)} aria-current=${name === here ? "page" : undefined}>${title}</a>`,
      )}
    </nav>
  `;
}

/** Links to all pages: those used every day in a row, the others in a menu; on a narrow screen, all in one menu. */
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.ts";
import { PAGES, type Page } from "./pages.ts";
import { linkTo } from "./router.ts";
import { isOperator } from "./session.ts";

/** As in frame.css. */
const narrow = window.matchMedia("(max-width: 900px)");
const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", ({ matches }) => {
  isNarrow.value = matches;
});

export function Navigation({ current }: { current: string }) {
  const pages = PAGES.filter(({ isForOperators }) => !isForOperators || isOperator.value);
  const isInMenu = (page: Page): boolean => isNarrow.value || page.isForManaging;
  return html`
    <nav aria-label="Pages">
      ${pages.filter((page) => !isInMenu(page)).map((page) => html`<${PageLink} key=${page.name} page=${page} current=${current} />`)}
      <${Menu} title=${isNarrow.value ? "Menu" : "Manage"} pages=${pages.filter(isInMenu)} current=${current} />
    </nav>
  `;
}

const PageLink = ({ page: { name, title }, current }: { page: Page; current: string }) =>
  html`<a href=${linkTo(name)} aria-current=${name === current ? "page" : undefined}>${title}</a>`;

/** A disclosure: Tab moves through its links, Escape closes it and returns to the button. */
function Menu({ title, pages, current }: { title: string; pages: readonly Page[]; current: string }) {
  // Closed by another page or width, but not by links that are added while it is open.
  const here = `${title} ${current}`;
  const [openAt, setOpenAt] = useState<string | null>(null);
  const isOpen = openAt === here;
  const frame = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const shown = pages.find(({ name }) => name === current);
  useEffect(() => {
    if (!isOpen) return undefined;
    const closeOutside = ({ target }: Event): void => {
      if (!(target instanceof Node) || frame.current?.contains(target) !== true) setOpenAt(null);
    };
    const closeByKey = ({ key }: KeyboardEvent): void => {
      if (key !== "Escape") return;
      setOpenAt(null);
      button.current?.focus();
    };
    for (const event of ["pointerdown", "focusin"]) document.addEventListener(event, closeOutside);
    document.addEventListener("keydown", closeByKey);
    return () => {
      for (const event of ["pointerdown", "focusin"]) document.removeEventListener(event, closeOutside);
      document.removeEventListener("keydown", closeByKey);
    };
  }, [isOpen]);
  return html`
    <div class="menu" ref=${frame}>
      <button type="button" ref=${button} class=${shown === undefined ? "" : "current"} aria-expanded=${isOpen ? "true" : "false"}
        onClick=${() => setOpenAt(isOpen ? null : here)}>${title}${shown !== undefined && html`<span class="shown">: ${shown.title}</span>`}
        <span aria-hidden="true"> ▾</span></button>
      ${
        isOpen &&
        html`<div class="menu-list" onClick=${() => setOpenAt(null)}>
          ${pages.map((page) => html`<${PageLink} key=${page.name} page=${page} current=${current} />`)}
        </div>`
      }
    </div>
  `;
}

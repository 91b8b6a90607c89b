/** Light or dark: as the machine says, until somebody says otherwise here. */
import { signal } from "@preact/signals";

const NAME = "windhover-theme";
const machine = window.matchMedia("(prefers-color-scheme: dark)");

export type Theme = "light" | "dark";

const chosen = (): Theme | null => {
  const value = localStorage.getItem(NAME);
  return value === "light" || value === "dark" ? value : null;
};

export const theme = signal<Theme>("light");

function apply(): void {
  theme.value = chosen() ?? (machine.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme.value;
}

export function followTheme(): void {
  apply();
  machine.addEventListener("change", apply);
}

export function switchTheme(): void {
  localStorage.setItem(NAME, theme.value === "dark" ? "light" : "dark");
  apply();
}

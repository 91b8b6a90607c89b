/** Keys of the whole page. They can be switched off, as speech input and screen readers use single letters, too. */
import { useEffect, useRef, useState } from "preact/hooks";

export const SHORTCUTS = [
  ["space", "play"],
  ["← →", "5 s"],
  ["shift ← →", "1 min"],
  [", .", "frame"],
  ["n p", "next, previous notice"],
  ["r", "reviewed"],
  ["b", "boxes"],
  ["e", "export"],
  ["+ − 0", "zoom"],
  ["[ ]", "pan"],
] as const;

const STORED = "windhover-shortcuts";

export function useShortcuts(actions: Readonly<Record<string, (event: KeyboardEvent) => void>>) {
  const latest = useRef(actions);
  latest.current = actions;
  const [isOn, setOn] = useState(() => localStorage.getItem(STORED) !== "off");
  useEffect(() => {
    if (!isOn) return undefined;
    const onKey = (event: KeyboardEvent): void => {
      const action = latest.current[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (action === undefined || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (!isFree(event.target as Element | null, event.key)) return;
      event.preventDefault();
      action(event);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [isOn]);
  const toggle = (): void => {
    localStorage.setItem(STORED, isOn ? "off" : "on");
    setOn(!isOn);
  };
  return { isOn, toggle };
}

/** The focused element does not use this key itself. */
function isFree(target: Element | null, key: string): boolean {
  if (document.querySelector("dialog[open]") !== null) return false;
  if (target?.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return false;
  return !(key === " " && target?.closest("button, a, summary, input"));
}

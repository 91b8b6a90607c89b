/** What costs the service something and is for the eye alone: it goes on only while the tab is seen. Returns how to stop. */
export function whileSeen(begin: () => () => void): () => void {
  let end: (() => void) | null = null;
  const rest = (): void => {
    end?.();
    end = null;
  };
  const look = (): void => {
    if (document.hidden) rest();
    else end ??= begin();
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    rest();
  };
}

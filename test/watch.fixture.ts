/** Waits until `holds` is true; looked at with every call of the returned `look`. */
export class Watch {
  readonly #waiting = new Set<{ holds: () => boolean; resolve: () => void }>();

  look(): void {
    for (const waiter of this.#waiting) {
      if (!waiter.holds()) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  async until(what: string, holds: () => boolean, limitMs = 60_000): Promise<void> {
    if (holds()) return;
    let timer: NodeJS.Timeout | undefined;
    let waiter: { holds: () => boolean; resolve: () => void } | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        waiter = { holds, resolve };
        this.#waiting.add(waiter);
        timer = setTimeout(() => reject(new Error(`still waiting for: ${what}`)), limitMs);
      });
    } finally {
      clearTimeout(timer);
      if (waiter !== undefined) this.#waiting.delete(waiter);
    }
  }
}

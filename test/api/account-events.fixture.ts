/** A client of the event log: server-sent events, continued with `Last-Event-ID` whenever the connection ends. */
import { setTimeout as sleep } from "node:timers/promises";
import type { AccountEvent } from "../../schemas/api/account-events.ts";
import { MASTER_KEY } from "./service.fixture.ts";

/** Reads until it is closed. `url`: where the service is now. */
export class EventReader {
  readonly events: AccountEvent[] = [];
  readonly gaps: unknown[] = [];
  comments = 0;
  connections = 0;
  readonly #url: () => string;
  readonly #closing = new AbortController();
  readonly #key: string;
  #lastId: string | null;
  readonly #reading: Promise<void>;

  constructor(
    url: () => string,
    { lastId = null, key = MASTER_KEY }: { readonly lastId?: string | null; readonly key?: string } = {},
  ) {
    this.#url = url;
    this.#key = key;
    this.#lastId = lastId;
    this.#reading = this.#run();
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await this.#read().catch(() => {});
      await sleep(50);
    }
  }

  async #read(): Promise<void> {
    const headers = {
      ...{ api_key: this.#key, Accept: "text/event-stream" },
      ...(this.#lastId !== null && { "Last-Event-ID": this.#lastId }),
    };
    const response = await fetch(`${this.#url()}/events`, { headers, signal: this.#closing.signal });
    if (!response.ok || response.body === null) return;
    this.connections += 1;
    let text = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) this.#handle(block);
    }
  }

  #handle(block: string): void {
    if (block.startsWith(":")) this.comments += 1;
    const fields = new Map(block.split("\n").map((line) => [line.split(": ")[0], line.slice(line.indexOf(": ") + 2)]));
    const data = fields.get("data");
    if (data === undefined) return;
    const id = fields.get("id");
    if (id === undefined) {
      this.gaps.push(JSON.parse(data));
      return;
    }
    this.#lastId = id;
    this.events.push(JSON.parse(data) as AccountEvent);
  }
}

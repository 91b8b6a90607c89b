/** Server-sent events, as they come in pieces of whatever size. Pure. */

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** An event that is longer is none. */
const MOST_CHARACTERS = 16 * 2 ** 20;

export class EventReader {
  readonly #decoder = new TextDecoder();
  #held = "";

  /** Those that are whole by now. Throws when what comes is no such stream. */
  read(piece: Uint8Array): readonly ServerEvent[] {
    this.#held += this.#decoder.decode(piece, { stream: true });
    const blocks = this.#held.split(/\r?\n\r?\n/);
    this.#held = blocks.pop() ?? "";
    if (this.#held.length > MOST_CHARACTERS) throw new Error("the events are none: one without an end");
    return blocks.map(readBlock).filter((event) => event.data !== "");
  }
}

function readBlock(block: string): ServerEvent {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ""] = /^(\w+):? ?(.*)$/s.exec(line) ?? [];
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return { event, data: data.join("\n") };
}

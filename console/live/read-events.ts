/** Server-sent events, as they come in pieces of whatever size. Pure. */

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

export class EventReader {
  readonly #decoder = new TextDecoder();
  #held = "";

  read(piece: Uint8Array): readonly ServerEvent[] {
    this.#held += this.#decoder.decode(piece, { stream: true });
    const blocks = this.#held.split(/\r?\n\r?\n/);
    this.#held = blocks.pop() ?? "";
    return blocks.map(readBlock).filter((event) => event.data !== "");
  }
}

function readBlock(block: string): ServerEvent {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ""] = /^(\w+):? ?(.*)$/.exec(line) ?? [];
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return { event, data: data.join("\n") };
}

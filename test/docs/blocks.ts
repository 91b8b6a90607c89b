/** Fenced blocks of a page, in order. Pure. */
export interface Block {
  /** After the opening fence: `sh`, `yaml`, `json`, `ts` … */
  readonly language: string;
  readonly text: string;
  /** Of the opening fence, from 1. */
  readonly line: number;
  /** Of the HTML comment right above: why it is not run, or how it is. Null: there is none. */
  readonly remark: string | null;
}

const FENCE = /^(\s*)```(\w*)\s*$/;
const REMARK = /^\s*<!--\s*(.*?)\s*-->\s*$/;

export function readBlocks(markdown: string): readonly Block[] {
  const lines = markdown.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const opening = FENCE.exec(lines[at] ?? "");
    if (opening === null) continue;
    const [, indent = "", language = ""] = opening;
    const end = lines.findIndex((line, i) => i > at && line.trim() === "```");
    if (end < 0) throw new Error(`line ${at + 1}: the block is not closed`);
    const text = lines.slice(at + 1, end).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    blocks.push({ language, text: `${text.join("\n")}\n`, line: at + 1, remark: findRemark(lines, at) });
    at = end;
  }
  return blocks;
}

/** Empty lines may be between. */
function findRemark(lines: readonly string[], at: number): string | null {
  let above = at - 1;
  while (above >= 0 && lines[above]?.trim() === "") above--;
  return REMARK.exec(lines[above] ?? "")?.[1] ?? null;
}

/** Parses events with another program: Python's XML parser. */
import { execFileSync } from "node:child_process";

export interface ParsedElement {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly text: string;
  readonly children: readonly ParsedElement[];
}

const PROGRAM = `
import json, sys, xml.etree.ElementTree as tree
def show(e):
    return {"tag": e.tag, "attributes": dict(e.attrib), "text": e.text or "", "children": [show(c) for c in e]}
print(json.dumps([show(tree.fromstring(text.encode())) for text in json.load(sys.stdin)]))
`;

export function parseEvents(texts: readonly string[]): readonly ParsedElement[] {
  const options = { input: JSON.stringify(texts), maxBuffer: 2 ** 26 };
  return JSON.parse(execFileSync("python3", ["-I", "-S", "-c", PROGRAM], options).toString());
}

/** The first one of that name, below it. */
export function find(element: ParsedElement | undefined, tag: string): ParsedElement | null {
  for (const child of element?.children ?? []) {
    const found = child.tag === tag ? child : find(child, tag);
    if (found !== null) return found;
  }
  return null;
}

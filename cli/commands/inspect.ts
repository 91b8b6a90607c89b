import { type ListedElement, listElements, OURS, propertiesOf } from "../../graphs/compiler/inspect.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { type Command, EXIT, expectPositionals, UsageFault } from "../command.ts";
import { type Knowledge, loadKnowledge } from "../compile-graph.ts";
import { describeElement, describeFactory } from "../inspect.ts";
import type { Terminal } from "../terminal.ts";
import { fit, padTo } from "../text.ts";

/** Shown as the plugin of an element that could not be loaded. */
const BROKEN = "(broken)";

export default {
  name: "inspect",
  about: "List the elements, or describe one of them.",
  usage: "[ELEMENT]",
  options: {
    find: {
      type: "string",
      value: "WORD",
      about: "List only elements with this word in their name, plugin, description or properties.",
    },
    json: { type: "boolean", about: "Print as JSON." },
  },
  notes:
    "The list has Windhover's elements first, then GStreamer's by plugin. A live property is mutable while the graph runs.",
  examples: [
    "inspect",
    "inspect print",
    "inspect queue",
    "inspect --find h264",
    "inspect --json x264enc | jq .properties",
  ],
  async run(given, terminal) {
    expectPositionals(given, 0, 1, "up to one ELEMENT");
    const knowledge = await loadKnowledge(terminal);
    const [name] = given.positionals;
    if (name === undefined) return list(knowledge, given.text("find"), given.flag("json"), terminal);
    if (given.text("find") !== undefined)
      throw new UsageFault("--find lists elements and cannot be combined with ELEMENT");
    await terminal.print(describe(knowledge, name, given.flag("json"), terminal));
    return EXIT.ok;
  },
} satisfies Command;

/** Up to this many matching properties are listed below an element. */
const MATCHES_SHOWN = 3;

async function list(
  { elements, registry }: Knowledge,
  word: string | undefined,
  json: boolean,
  terminal: Terminal,
): Promise<number> {
  const listed = [...listBroken(elements, word), ...listElements(elements, registry, word)];
  if (json) {
    await terminal.print(JSON.stringify(listed, null, 2));
    return EXIT.ok;
  }
  if (listed.length === 0)
    throw new UsageFault(`no element has "${word}" in its name, plugin, description or properties`);
  const pluginWidth = Math.min(20, Math.max(...listed.map(({ plugin }) => plugin.length)));
  const nameWidth = Math.min(26, Math.max(...listed.map(({ name }) => name.length)));
  const lines = listed.flatMap(({ plugin, name, about, matched }) => [
    `${padTo(plugin, pluginWidth)}  ${padTo(name, nameWidth)}  ${about}`,
    ...matched.slice(0, MATCHES_SHOWN).map(({ where, text }) => `    ${where}  ${text}`),
    ...(matched.length > MATCHES_SHOWN ? [`    and ${matched.length - MATCHES_SHOWN} more with "${word}"`] : []),
  ]);
  const shown = terminal.isOutLive ? lines.map((line) => fit(line, terminal.columns)) : lines;
  await terminal.print(shown.join("\n"));
  return EXIT.ok;
}

/** First: they are what has to be fixed. */
function listBroken({ broken }: Knowledge["elements"], word: string | undefined): readonly ListedElement[] {
  const isWanted = ({ name }: { readonly name: string }) => name.toLowerCase().includes(word?.toLowerCase() ?? "");
  return [...(broken?.values() ?? [])]
    .filter(isWanted)
    .map(({ name, place, reason }) => ({ plugin: BROKEN, name, about: `${place}: ${reason}`, matched: [] }));
}

function describe({ elements, registry }: Knowledge, name: string, json: boolean, { paintOut }: Terminal): string {
  const ours = elements.get(name);
  if (ours !== undefined) {
    if (!json) return describeElement(ours, paintOut);
    const { about, kind, reads = [], writes = [], example } = ours;
    const caps = ours.kind === "composite" ? null : ours.caps;
    const properties = propertiesOf(ours);
    return JSON.stringify({ name, plugin: OURS, about, kind, caps, reads, writes, properties, example }, null, 2);
  }
  const broken = elements.broken?.get(name);
  if (broken !== undefined)
    throw new UsageFault(`the element "${name}" could not be loaded: ${broken.place}: ${broken.reason}`);
  const native = registry.get(name);
  if (native !== undefined) return json ? JSON.stringify(native, null, 2) : describeFactory(native, paintOut);
  const names = [...elements.keys(), ...registry.list().map((factory) => factory.name)];
  const hint = didYouMean(name, names);
  throw new UsageFault(
    `there is no element "${name}"${hint}\n  \`windhover inspect --find ${name}\` searches descriptions and properties`,
  );
}

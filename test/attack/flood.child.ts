/** Runs floods in a process of its own, so that whoever measures is not held up: `flood.child.ts VICTIM NAME`. */
import { FLOODS, type Victim } from "./floods.ts";

const [, , victim = "{}", name = ""] = process.argv;
const flood = FLOODS.find((one) => one.name === name);
if (flood === undefined) throw new Error(`there is no flood "${name}"`);
const ended = new AbortController();
process.once("SIGTERM", () => {
  ended.abort();
  setTimeout(() => process.exit(0), 100);
});
process.stdout.write("floods\n");
await flood.run(JSON.parse(victim) as Victim, ended.signal);

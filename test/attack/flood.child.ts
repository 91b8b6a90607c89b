/** Runs a flood in its own process, so that it does not slow down the measurement: `flood.child.ts VICTIM NAME`. */
import { FLOODS, type Victim } from "./floods.fixture.ts";

const [, , victim = "{}", name = ""] = process.argv;
const flood = FLOODS.find((one) => one.name === name);
if (flood === undefined) throw new Error(`no such flood: "${name}"`);
const ended = new AbortController();
process.once("SIGTERM", () => {
  ended.abort();
  setTimeout(() => process.exit(0), 100);
});
process.stdout.write("floods\n");
await flood.run(JSON.parse(victim) as Victim, ended.signal);

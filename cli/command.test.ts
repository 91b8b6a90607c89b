import assert from "node:assert/strict";
import { test } from "node:test";
import { type Command, readArguments, UsageFault } from "./command.ts";

const COMMAND: Command = {
  name: "try",
  about: "",
  usage: "",
  options: {
    frames: { type: "string", value: "N", about: "" },
    probe: { type: "string", multiple: true, about: "" },
    pace: { type: "string", about: "" },
    quiet: { type: "boolean", short: "q", about: "" },
  },
  examples: [],
  run: async () => 0,
};
const read = (...args: readonly string[]) => readArguments(COMMAND, args);

test("mixes options and positionals, and repeats options", () => {
  const given = read("a", "--probe", "x", "b=-1", "-q", "--probe=y", "--frames", "50");
  assert.deepEqual(given.positionals, ["a", "b=-1"]);
  assert.deepEqual(given.texts("probe"), ["x", "y"]);
  assert.equal(given.number("frames", "whole"), 50);
  assert.equal(given.flag("quiet"), true);
});

for (const [args, message] of [
  [["--frame", "3"], /no option --frame; did you mean "--frames"\?/],
  [["-x"], /no option -x/],
  [["--frames"], /--frames needs a value: --frames N/],
  [["--frames", "--quiet"], /--frames needs a value/],
  [["--quiet=yes"], /--quiet takes no value/],
] as const) {
  test(`rejects "${args.join(" ")}"`, () =>
    assert.throws(
      () => read(...args),
      (error) => error instanceof UsageFault && message.test(error.message),
    ));
}

for (const text of ["0", "-1", "1.5", "x", " ", "1e99"]) {
  test(`rejects --frames "${text}": not a whole number above 0`, () =>
    assert.throws(() => read(`--frames=${text}`).number("frames", "whole"), UsageFault));
}

test("suggests the nearest choice", () =>
  assert.throws(() => read("--pace", "realtim").choice("pace", ["realtime", "fast"]), /did you mean "realtime"\?/));

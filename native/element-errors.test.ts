import assert from "node:assert/strict";
import test from "node:test";
import { aliveCounts } from "./handlers.ts";
import {
  build,
  chain,
  element,
  ending,
  gate,
  NO_HANG,
  never,
  newPipeline,
  pictures,
  sink,
  transform,
} from "./pipeline.fixture.ts";

const nothingIsLeft = () => assert.deepEqual(aliveCounts(), { metadata: 0, calls: 0, instances: 0 });

/** The bus error of this element. */
async function failure(factory: string, kind: "transform" | "sink" = "transform") {
  const pipeline = await build({
    ...pictures(5),
    culprit: [factory],
    ...(kind === "transform" && { out: ["fakesink"] }),
  });
  await pipeline.setState("PLAYING").catch(() => {});
  const end = await ending(pipeline);
  await pipeline.close();
  nothingIsLeft();
  if (end.type === "eos") assert.fail("the stream ended without an error");
  return end;
}

const explode = (): never => {
  throw new RangeError("the ü in 100 % of it\nbroke");
};
for (const [method, factory, kind] of [
  ["process", transform(explode), "transform"],
  ["an async process", transform(async () => explode()), "transform"],
  ["process with several in flight", transform(explode, { inFlight: 4 }), "transform"],
  ["process of a sink", sink(explode), "sink"],
  ["format", element(() => ({ format: explode, process: () => {} })), "transform"],
  ["format of a sink", element(() => ({ format: explode, process: () => {} }), { kind: "sink" }), "sink"],
  ["end", element(() => ({ end: async () => explode(), process: () => {} })), "transform"],
  ["end of a sink", element(() => ({ end: explode, process: () => {} }), { kind: "sink" }), "sink"],
  ["create", element(() => explode()), "transform"],
  ["an async create", element(async () => explode()), "transform"],
] as const)
  test(`an exception in ${method} is the bus error with message, stack and node`, NO_HANG, async () => {
    const { type, node, source, message, debug } = await failure(factory, kind);
    assert.deepEqual(
      { type, node, source, message },
      { type: "error", node: "culprit", source: "culprit", message: "the ü in 100 % of it\nbroke" },
    );
    assert.match(debug, /RangeError: the ü in 100 % of it\nbroke\n\s+at .*explode .*element-errors\.test/);
  });

test("a thrown string is the message", NO_HANG, async () => {
  const { message } = await failure(
    transform(() => {
      throw "a string";
    }),
  );
  assert.equal(message, "a string");
});

test("thrown values without a message still give one", NO_HANG, async () => {
  const throwing = (thrown: unknown) =>
    failure(
      transform(() => {
        throw thrown;
      }),
    );
  assert.equal((await throwing(new RangeError())).message, "RangeError");
  assert.equal((await throwing({ code: 7 })).message, "{ code: 7 } was thrown, which is not an Error");
  assert.equal((await throwing(undefined)).message, "undefined was thrown, which is not an Error");
});

test("a failed start rejects the state change with the reason", NO_HANG, async () => {
  const pipeline = await build({ ...pictures(5), it: [element(() => explode())], out: ["fakesink"] });
  await assert.rejects(pipeline.setState("PLAYING"), /cannot go to PLAYING: it: the ü in 100 % of it\nbroke/);
  await pipeline.close();
  nothingIsLeft();
});

test("a hanging start times out, and ends when the pipeline is closed", NO_HANG, async () => {
  const pipeline = await build({ ...pictures(5), it: [element(() => never)], out: ["fakesink"] });
  await assert.rejects(pipeline.setState("PLAYING", 50), /did not reach PLAYING within 50 ms/);
  await pipeline.close();
  nothingIsLeft();
});

test("closing during a start rejects the state change and closes the handler once it is created", NO_HANG, async () => {
  const starting = gate();
  const ready = gate();
  const closed = gate();
  const it = element(async () => {
    starting.open();
    await ready.opened;
    return { process: () => {}, close: () => closed.open() };
  });
  const pipeline = await build({ ...pictures(5), it: [it], out: ["fakesink"] });
  const playing = pipeline.setState("PLAYING");
  await starting.opened;
  const closing = pipeline.close();
  await assert.rejects(playing, /cannot go to PLAYING/);
  await closing;
  ready.open();
  await closed.opened;
  nothingIsLeft();
});

test("a handler whose start settles in the tick of the close is closed exactly once", NO_HANG, async () => {
  for (let round = 0; round < 50; round += 1) {
    const starting = gate();
    const ready = gate();
    const closed = gate();
    let closes = 0;
    const it = element(async () => {
      starting.open();
      await ready.opened;
      return {
        process: () => {},
        close: () => {
          closes += 1;
          closed.open();
        },
      };
    });
    const pipeline = await build({ ...pictures(5), it: [it], out: ["fakesink"] });
    const playing = pipeline.setState("PLAYING").catch(() => {});
    await starting.opened;
    if (round % 2 === 0) ready.open();
    const closing = pipeline.close();
    ready.open();
    await Promise.all([playing, closing, closed.opened]);
    assert.equal(closes, 1, `round ${round}`);
  }
  nothingIsLeft();
});

test("exceptions in flush and close are faults, and the pipeline still closes", NO_HANG, async () => {
  const faults: Error[] = [];
  const flushed = gate();
  const first = gate();
  const it = element(
    () => ({
      process: () => first.open(),
      flush: () => {
        flushed.open();
        throw new Error("at flush");
      },
      close: async () => {
        throw new Error("at close");
      },
    }),
    { faults },
  );
  const pipeline = await build({ ...pictures(100_000), it: [it], out: ["fakesink"] });
  await pipeline.setState("PLAYING");
  await first.opened;
  await pipeline.seek(0n);
  await flushed.opened;
  await pipeline.close();
  assert.deepEqual(
    faults.map(({ message }) => message),
    ["at flush", "at close"],
  );
  nothingIsLeft();
});

test("a second registration replaces the code and keeps the GType", NO_HANG, async () => {
  const { registerElement } = await import("./handlers.ts");
  const calls: string[] = [];
  const spec = (label: string) => ({
    name: "test-twice",
    about: "An element of a test.",
    kind: "sink" as const,
    caps: "ANY",
    access: "read" as const,
    inFlight: 1,
    properties: [],
    create: () => ({ process: () => void calls.push(label) }),
    fault: () => {},
  });
  registerElement(spec("first"));
  registerElement(spec("second"));
  const pipeline = newPipeline();
  await pipeline.build(chain({ ...pictures(1), out: ["test-twice"] }));
  await pipeline.setState("PLAYING");
  await ending(pipeline);
  await pipeline.close();
  assert.deepEqual(calls, ["second"]);
});

test("rejects invalid caps when the element is registered", () => {
  assert.throws(() => transform(() => {}, { caps: "video/x-raw,width=(" }), /are not valid caps/);
});

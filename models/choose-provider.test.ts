import assert from "node:assert/strict";
import test from "node:test";
import { chooseProvider, compareOutputs } from "./choose-provider.ts";
import type { Outputs } from "./decode/decoder.ts";

const outputs = (...values: readonly number[]): Outputs => ({
  scores: { type: "float32", dims: [1, values.length], data: Float32Array.from(values) },
});
const CPU = outputs(0, 0.5, 1);

/** Providers by name: what they compute, or why they fail to open or run. */
async function choose(providers: Readonly<Record<string, Outputs | { opens: string } | { runs: string }>>) {
  const warnings: string[] = [];
  const released: string[] = [];
  const chosen = await chooseProvider({
    offered: Object.keys(providers),
    warn: (warning) => void warnings.push(warning),
    open: async ([name = ""]) => {
      const does = providers[name] as Outputs | { opens: string } | { runs: string };
      if ("opens" in does) throw new Error(String(does.opens));
      return {
        name,
        run: async () => {
          if ("runs" in does) throw new Error(String(does.runs));
          return does as Outputs;
        },
        release: async () => void released.push(name),
      };
    },
  });
  return { name: chosen.name, warnings, released };
}

test("a provider that computes what the CPU computes is used, the fastest first", async () => {
  const found = await choose({ cpu: CPU, webgpu: CPU, cuda: outputs(0.001, 0.501, 0.999) });
  assert.deepEqual(found, { name: "cuda", warnings: [], released: ["cpu"] });
});

test("where the CPU alone is offered, it is used without a word", async () => {
  assert.deepEqual(await choose({ cpu: CPU }), { name: "cpu", warnings: [], released: [] });
});

test("a provider that does not open, does not run or computes something else is not used, with the reason", async () => {
  const { name, warnings, released } = await choose({
    cpu: CPU,
    cuda: { opens: "libcudart.so is missing" },
    webgpu: outputs(1, 0, 0.5),
  });
  assert.equal(name, "cpu");
  assert.deepEqual(released, ["webgpu"]);
  assert.match(warnings[0] ?? "", /cuda is not used, inference runs on the CPU: libcudart\.so is missing/);
  assert.match(warnings[1] ?? "", /webgpu is not used, .* scores differs from that of the CPU by 66\.7 % on average/);
  const failing = await choose({ cpu: CPU, webgpu: { runs: "device lost" }, cuda: CPU });
  assert.deepEqual([failing.name, failing.warnings], ["cuda", []]);
  const lost = await choose({ cpu: CPU, webgpu: { runs: "device lost" } });
  assert.match(lost.warnings[0] ?? "", /device lost/);
  assert.deepEqual(lost.released, ["webgpu"]);
});

test("NaN and other shapes are never the same", () => {
  assert.equal(compareOutputs(CPU, CPU), null);
  assert.match(compareOutputs(CPU, outputs(0, Number.NaN, 1)) ?? "", /differs/);
  assert.match(compareOutputs(CPU, outputs(0, 1)) ?? "", /\[1, 2\], expected \[1, 3\]/);
  assert.match(compareOutputs(CPU, {}) ?? "", /missing/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Tensor } from "onnxruntime-node";
import { findInt8Kernels, int8KernelsHere, listInt8Kernels } from "./int8-kernels.ts";
import { GraphBuilder } from "./onnx/graph.ts";
import { openSession } from "./onnxruntime.ts";

const AVX2 = "fpu sse4_2 fma avx avx2 bmi2";
const AVX512 = `${AVX2} avx512f avx512dq avx512cd avx512bw avx512vl`;
const X64: readonly (readonly [cpu: string, flags: string, saturate: boolean])[] = [
  ["SSE only, whose kernels widen first", "fpu sse2 ssse3 sse4_1 sse4_2", false],
  ["AVX without AVX2", "fpu sse4_2 avx", false],
  ["AVX2 (Haswell, Zen 2)", AVX2, true],
  ["AVX-512 without VNNI (Skylake-SP)", AVX512, true],
  ["AVX-512 with VNNI (Cascade Lake, Zen 4)", `${AVX512} avx512_vnni`, false],
  ["AVX-VNNI (Alder Lake)", `${AVX2} avx_vnni`, false],
  ["both (Sapphire Rapids)", `${AVX512} avx_vnni avx512_vnni amx_int8`, false],
  ["AVX-512 kernels go before AVX-VNNI", `${AVX512} avx_vnni`, true],
  ["AVX-512 too old for its kernels", `${AVX2} avx512f avx512cd avx_vnni`, false],
  ["a flag with a longer name", `${AVX512} avx512_vnni_next`, true],
];
for (const [cpu, flags, saturate] of X64)
  test(`x86-64 with ${cpu} ${saturate ? "saturates" : "does not saturate"}`, () => {
    const cpuinfo = `processor\t: 0\nvendor_id\t: any\nflags\t\t: ${flags}\nvmx flags\t: avx2 fma\nbugs\t\t: none\n\n`;
    assert.deepEqual(findInt8Kernels("x64", cpuinfo + cpuinfo), { activations: "uint8", saturate });
  });

test("assumes that an unknown x86-64 saturates", () => {
  for (const cpuinfo of ["", "processor\t: 0\n"])
    assert.deepEqual(findInt8Kernels("x64", cpuinfo), { activations: "uint8", saturate: true });
});

test("ARM uses int8 and does not saturate", () => {
  const cpuinfo = "processor\t: 0\nFeatures\t: fp asimd asimddp i8mm\n";
  assert.deepEqual(findInt8Kernels("arm64", cpuinfo), { activations: "int8", saturate: false });
});

test("the kernels of a machine are among those of its architecture", () => {
  for (const arch of ["x64", "arm64"]) {
    const all = listInt8Kernels(arch);
    for (const flags of [AVX2, AVX512, `${AVX512} avx512_vnni`])
      assert.ok(
        all.some(({ saturate }) => saturate === findInt8Kernels(arch, `flags\t: ${flags}`).saturate),
        `${arch}: ${flags}`,
      );
    assert.equal(all.length, new Set(all.map((kernels) => JSON.stringify(kernels))).size);
  }
});

/** A convolution of one pixel whose pairs of products are 2 × 255 × 127, too large for 16 bits; in thousands. */
function buildWidePairs(channels: number): Uint8Array {
  const graph = new GraphBuilder();
  graph.input("pixel", "uint8", [1, channels, 1, 1]);
  const one = graph.scalar("one", Float32Array.of(1));
  const zero = graph.scalar("zero", Uint8Array.of(0));
  const weights = graph.constant("weights", new Int8Array(channels * channels).fill(127), [channels, channels, 1, 1]);
  const scales = graph.constant("scales", new Float32Array(channels).fill(1));
  const zeros = graph.constant("zeros", new Int8Array(channels));
  const values = [
    graph.node("DequantizeLinear", ["pixel", one, zero], "x"),
    graph.node("DequantizeLinear", [weights, scales, zeros], "w", { axis: 0 }),
  ];
  graph.node("Conv", values, "conv", { kernel_shape: [1, 1] });
  graph.node("QuantizeLinear", ["conv", graph.scalar("thousand", Float32Array.of(1000)), zero], "sums");
  graph.output("sums", "uint8", [1, channels, 1, 1]);
  return graph.finish("wide-pairs");
}

test("onnxruntime saturates on this machine as predicted, and not with precise sums", async () => {
  const channels = 4;
  const sumWith = async (isConverted: boolean): Promise<number[]> => {
    const order = { onnx: buildWidePairs(channels), isConverted, threads: 1, providers: ["cpu"] };
    const session = await openSession(order);
    const pixel = new Tensor("uint8", new Uint8Array(channels).fill(255), [1, channels, 1, 1]);
    const { sums } = await session.run({ pixel });
    await session.release();
    return [...new Set(sums?.data as Uint8Array)];
  };
  const exact = Math.round((channels * 255 * 127) / 1000);
  const cutOff = Math.round(((channels / 2) * 32_767) / 1000);
  assert.deepEqual(await sumWith(true), [int8KernelsHere().saturate ? cutOff : exact]);
  assert.deepEqual(await sumWith(false), [exact]);
});

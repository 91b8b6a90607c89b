/** Pixel kernels that JavaScript calls directly: the loops of `vision/`, and the choice of the kernel set. */
import { addon } from "./addon.ts";

/** `kernelSets` and `useKernelSet` are for tests: sets for different vector instructions, the fastest one in use. */
export const { shrinkLuma, averageLuma, halveGrey, findCorners, followPoints, kernelSets, useKernelSet } = addon;

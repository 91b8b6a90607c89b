/** The sets of pixel kernels, each for other vector instructions of the CPU. Only tests choose between them. */
import { addon } from "./addon.ts";

/** Those that this CPU can run, from the slowest to the fastest, which is in use. */
export const kernelSets = (): readonly string[] => addon.kernelSets();

export const useKernelSet = (name: string): void => addon.useKernelSet(name);

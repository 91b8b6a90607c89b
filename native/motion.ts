/** Kernels of `vision/`: the loops over pixels that find how a camera moved. */
import { addon } from "./addon.ts";

export const { shrinkLuma, halveGrey, findCorners, followPoints } = addon;

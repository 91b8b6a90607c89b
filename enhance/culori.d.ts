/** The used part of culori 4, which has no types. */
declare module "culori/fn" {
  export interface Rgb {
    readonly mode: "rgb";
    /** From 0 to 1. */
    readonly r: number;
    readonly g: number;
    readonly b: number;
  }
  export interface Lab65 {
    readonly mode: "lab65";
    /** From 0 to 100. */
    readonly l: number;
    readonly a: number;
    readonly b: number;
  }
  export function convertRgbToLab65(colour: Omit<Rgb, "mode">): Lab65;
  export function convertLab65ToRgb(colour: Omit<Lab65, "mode">): Rgb;
  export function useMode(mode: object): unknown;
  export const modeRgb: object;
  export const modeLab65: object;
  export function differenceCiede2000(): (one: Lab65, other: Lab65) => number;
}

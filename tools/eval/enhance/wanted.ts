/** Which objects are looked at. */
export interface Wanted {
  readonly classNames: readonly string[];
  /** Of the longer side of the box. */
  readonly leastPixels: number;
}

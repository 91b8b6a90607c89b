/** A picture of an object, and where it comes from. */
export interface EvalPatch {
  /** `000000155341.jpg 152,285` of a picture, `street.mp4 track 7` of a clip. */
  readonly name: string;
  readonly className: string;
  /** In base64. */
  readonly jpeg: string;
}

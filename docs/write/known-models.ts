/** What is known of the models that come with Windhover and stands in no card: how they were made, and what was measured. */

export interface KnownModel {
  /** When to take it. */
  readonly choose: string;
  readonly trainedOn: string;
  /** COCO AP in percent, as its makers published it; null where nobody did, for this size of input. */
  readonly published: number | null;
  /** `eval coco`, 53 pictures of COCO val2017. */
  readonly coco: { readonly ap: number; readonly ap50: number; readonly small: number };
  /** `eval clip`, class person. */
  readonly street: { readonly ap50: number; readonly hota: number };
  /** The same on the demo's clip. */
  readonly campus: { readonly ap50: number; readonly hota: number } | null;
  /** Processor time of one inference on one core of a Neoverse-N1, the median. */
  readonly lookMs: number;
  /** One inference on one x86-64 core, the least of many. */
  readonly x64Ms: { readonly vnni: number; readonly withoutVnni: number | null };
}

const TRAINED = "COCO 2017, by Google, who made it int8 too: its scales are theirs";

export const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
  default: {
    choose: "Cameras at eye level or on a pole, when several streams share a machine or the picture must be fresh.",
    trainedOn: TRAINED,
    published: 25.7,
    coco: { ap: 35.0, ap50: 52.5, small: 7.7 },
    street: { ap50: 88.2, hota: 59.5 },
    campus: { ap50: 86.4, hota: 54.1 },
    lookMs: 39,
    x64Ms: { vnni: 13, withoutVnni: 27 },
  },
  aerial: {
    choose:
      "Drones and far-away views, where objects are a few pixels wide: cars of VisDrone were found with AP50 58, and with 19 by the same weights at 320×320. Of no use close by: what fills the picture is seen worse.",
    trainedOn: `the weights of \`default\`, on a larger picture: ${TRAINED}`,
    published: null,
    coco: { ap: 29.9, ap50: 49.6, small: 23.7 },
    street: { ap50: 87.9, hota: 50.5 },
    campus: null,
    lookMs: 342,
    x64Ms: { vnni: 115, withoutVnni: null },
  },
  quality: {
    choose: "One stream on a machine with cores to spare, recordings at pace fast, small or crowded objects.",
    trainedOn: TRAINED,
    published: 34.0,
    coco: { ap: 41.4, ap50: 59.3, small: 16.5 },
    street: { ap50: 88.9, hota: 57.1 },
    campus: { ap50: 93.2, hota: 59.4 },
    lookMs: 115,
    x64Ms: { vnni: 34, withoutVnni: 81 },
  },
};

/** Colours of tracks: the same wherever one is shown. Pure. */

/** Far apart for neighbouring ids. */
export const hueOf = (trackId: number): number => (trackId * 137.508) % 360;

/** On pictures. Blue and violet are dark by nature: lighter, so that dark words can be read on them. */
export const colourOf = (trackId: number): string => {
  const hue = hueOf(trackId);
  return `hsl(${hue} 90% ${hue > 215 && hue < 300 ? 75 : 60}%)`;
};

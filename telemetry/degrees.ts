/** The same angle from -180 to below 180. */
export function normaliseDegrees(angle: number): number {
  const turned = (((angle + 180) % 360) + 360) % 360;
  return turned - 180;
}

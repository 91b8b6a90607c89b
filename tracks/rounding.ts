/** Numbers as short as they can be without losing what is known. */

const round = (value: number, parts: number): number => Math.round(value * parts) / parts + 0;

/** To a centimetre: 1e-7 degrees. */
export const roundDegrees = (degrees: number): number => round(degrees, 10_000_000);
/** To a centimetre. */
export const roundMetres = (metres: number): number => round(metres, 100);
export const roundAngle = (degrees: number): number => round(degrees, 10) % 360;
/** From 0 to 1 → from 0 to 100, to a hundredth, as everywhere in the interface. */
export const toPercent = (share: number): number => round(share * 100, 100);

export const toTime = (ms: number): string => new Date(ms).toISOString();

/** Never `1e-7`: not everybody who reads numbers knows what that is. */
export const writePlain = (value: number): string => (Math.abs(value) < 1e-6 ? value.toFixed(7) : String(value));

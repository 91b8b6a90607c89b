/** What geolocate.ts describes. */
export interface GeolocateProperties {
  readonly maxDistanceM: number;
  readonly geoidSeparationM: number;
  readonly attitudeErrorDeg: number;
  readonly headingErrorDeg: number;
  readonly lensError: number;
  readonly positionErrorM: number;
  readonly heightErrorM: number;
  readonly footError: number;
}

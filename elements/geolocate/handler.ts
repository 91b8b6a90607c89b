import type { Frame, Handler, Services } from "../element.ts";

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

/** Reads `tracks` or `detections`, and `telemetry`; writes `places` where there is telemetry. */
export class GeolocateHandler implements Pick<Handler, "process"> {
  readonly properties: GeolocateProperties;

  constructor(properties: GeolocateProperties, _services: Pick<Services, "emit">) {
    this.properties = properties;
  }

  process({ meta }: Frame): undefined {
    if (meta.telemetry === undefined) return;
  }
}

export type AxisState = readonly [number, number, number, number, number];

/**
 * Kalman filter of one coordinate with nearly constant speed. The trackers assume independent coordinates, so a box is
 * four of these and no matrix is needed.
 */
export class Axis {
  position: number;
  speed = 0;
  /** Variance of the position, covariance of both, variance of the speed. */
  #pp: number;
  #ps = 0;
  #ss: number;

  constructor(position: number, positionVariance: number, speedVariance: number) {
    this.position = position;
    this.#pp = positionVariance;
    this.#ss = speedVariance;
  }

  get positionVariance(): number {
    return this.#pp;
  }

  /** Advances by `time`; the variances are the process noise. */
  predict(time: number, positionVariance: number, speedVariance: number): void {
    this.position += this.speed * time;
    this.#pp += time * (2 * this.#ps + time * this.#ss) + positionVariance;
    this.#ps += time * this.#ss;
    this.#ss += speedVariance;
  }

  correct(measured: number, variance: number): void {
    const total = this.#pp + variance;
    const gain = this.#pp / total;
    const speedGain = this.#ps / total;
    const surprise = measured - this.position;
    this.position += gain * surprise;
    this.speed += speedGain * surprise;
    this.#ss -= speedGain * this.#ps;
    this.#ps *= 1 - gain;
    this.#pp *= 1 - gain;
  }

  /** The origin of the coordinate has moved. */
  shift(position: number, speed: number): void {
    this.position += position;
    this.speed += speed;
  }

  /** For `restore`: position, speed and the three variances. */
  get state(): AxisState {
    return [this.position, this.speed, this.#pp, this.#ps, this.#ss];
  }

  static restore([position, speed, pp, ps, ss]: AxisState): Axis {
    const axis = new Axis(position, pp, ss);
    axis.speed = speed;
    axis.#ps = ps;
    return axis;
  }

  clone(): Axis {
    return Axis.restore(this.state);
  }
}

/**
 * Speed and heading of each track over the ground: a constant-velocity Kalman filter in metres on the tangent plane at
 * the track, fed with positions and their covariances.
 */
import type { Covariance } from "./locate.ts";
import { combine, cross, dot, localFrame, normalise, RADIANS, step, subtract, type Vector } from "./wgs84.ts";

export interface Spot {
  readonly latitude: number;
  readonly longitude: number;
  /** ECEF. */
  readonly point: Vector;
  readonly covariance: Covariance;
  /** The part of the error that persists from frame to frame and changes with the camera's motion: one standard deviation. */
  readonly lastingM: number;
}

export interface Motion {
  readonly speedMps: number | null;
  /** Degrees from true north; null while it stands still or if unknown. */
  readonly heading: number | null;
}

/** Maximum error of a reported speed: metres per second, or as a fraction of it. */
const KNOWN_MPS = 2;
const KNOWN_PART = 1 / 3;
const MIN_SPOTS = 3;
const MIN_TIME_S = 0.5;
/** Slower objects count as standing: boxes jitter. */
const STANDING_MPS = 0.4;
/** Farther from the origin of its plane, a track gets a new plane. */
const PLANE_REACH_M = 1000;
/** A track not seen for this time is dropped, in case its end was missed. */
const FORGET_S = 60;
const MAX_TRACKS = 4096;
/** A persistent error changes with the camera's rotation within about this time; the filter remembers it for `MEMORY_S`. */
const TURN_S = 1;
const MEMORY_S = 2;

export const UNKNOWN_MOTION: Motion = { speedMps: null, heading: null };

interface Course {
  readonly filter: PlaneFilter;
  readonly firstS: number;
  lastS: number;
  spots: number;
  /** Recent maximum. */
  lastingM: number;
  plane: { origin: Vector; first: Vector; second: Vector };
}

export class Motions {
  /** In order of their last update. */
  readonly #courses = new Map<number, Course>();

  get size(): number {
    return this.#courses.size;
  }

  /** Adds a position that is based on a detection. */
  take(id: number, timeS: number, spot: Spot): Motion {
    const known = this.#courses.get(id);
    this.#courses.delete(id);
    const course = known === undefined || timeS < known.lastS ? begin(timeS, spot) : known;
    this.#courses.set(id, course);
    if (course === known) advance(course, timeS, spot);
    this.#forgetOld(timeS);
    return describe(course, spot);
  }

  /** The motion of a track without a new position. */
  recall(id: number, spot: Spot): Motion {
    const course = this.#courses.get(id);
    return course === undefined ? UNKNOWN_MOTION : describe(course, spot);
  }

  forget(ids: readonly number[]): void {
    for (const id of ids) this.#courses.delete(id);
  }

  clear(): void {
    this.#courses.clear();
  }

  #forgetOld(timeS: number): void {
    for (const [id, { lastS }] of this.#courses) {
      if (timeS - lastS <= FORGET_S && this.#courses.size <= MAX_TRACKS) return;
      this.#courses.delete(id);
    }
  }
}

function begin(timeS: number, { latitude, longitude, point, covariance, lastingM }: Spot): Course {
  const { east, north } = localFrame(latitude, longitude);
  const plane = { origin: point, first: east, second: north };
  return {
    filter: new PlaneFilter(
      0,
      0,
      spread(covariance, east, east),
      spread(covariance, east, north),
      spread(covariance, north, north),
    ),
    firstS: timeS,
    lastS: timeS,
    spots: 1,
    lastingM,
    plane,
  };
}

function advance(course: Course, timeS: number, { latitude, longitude, point, covariance, lastingM }: Spot): void {
  const { filter } = course;
  course.lastingM = Math.max(lastingM, course.lastingM * Math.exp((course.lastS - timeS) / MEMORY_S));
  filter.predict(timeS - course.lastS);
  course.lastS = timeS;
  course.spots++;
  let { origin, first, second } = course.plane;
  const away = subtract(point, origin);
  if (dot(away, away) > PLANE_REACH_M * PLANE_REACH_M) {
    // The new axes are the old ones, projected: the filter state does not rotate.
    const { up } = localFrame(latitude, longitude);
    filter.move(-dot(away, first), -dot(away, second));
    first = normalise(step(first, up, -dot(first, up)));
    second = cross(up, first);
    origin = point;
    course.plane = { origin, first, second };
  }
  const offset = subtract(point, origin);
  filter.correct(
    dot(offset, first),
    dot(offset, second),
    spread(covariance, first, first),
    spread(covariance, first, second),
    spread(covariance, second, second),
  );
}

/** Covariance between two directions. */
const spread = ({ xx, xy, xz, yy, yz, zz }: Covariance, a: Vector, b: Vector): number =>
  a.x * (xx * b.x + xy * b.y + xz * b.z) +
  a.y * (xy * b.x + yy * b.y + yz * b.z) +
  a.z * (xz * b.x + yz * b.y + zz * b.z);

function describe({ filter, plane, spots, firstS, lastS, lastingM }: Course, { latitude, longitude }: Spot): Motion {
  if (spots < MIN_SPOTS || lastS - firstS < MIN_TIME_S) return UNKNOWN_MOTION;
  const { east, north } = localFrame(latitude, longitude);
  const velocity = combine(plane.first, filter.velocityX, plane.second, filter.velocityY, plane.first, 0);
  const [eastward, northward] = [dot(velocity, east), dot(velocity, north)];
  const speedMps = Math.sqrt(eastward * eastward + northward * northward);
  // The filter assumes independent errors: add the persistent part.
  const doubtMps = Math.hypot(filter.speedDoubt(), lastingM / TURN_S);
  if (doubtMps > Math.max(KNOWN_MPS, speedMps * KNOWN_PART)) return UNKNOWN_MOTION;
  const isStanding = speedMps < Math.max(STANDING_MPS, doubtMps / 2);
  return { speedMps, heading: isStanding ? null : toHeading(eastward, northward) };
}

function toHeading(eastward: number, northward: number): number {
  const degrees = Math.atan2(eastward, northward) / RADIANS;
  // For a tiny negative angle the sum rounds to 360.
  const heading = degrees < 0 ? degrees + 360 : degrees;
  return heading < 360 ? heading : 0;
}

/** Process noise: variance of the change of speed per second and axis, in (m/s)². */
const UNSTEADINESS = 0.5;
/** Initial variance of the speed: that of a car in town, in (m/s)². */
const FIRST_SPEED2 = 10 * 10;

/**
 * Position and velocity on a plane. The covariance is kept as three blocks of two by two: position, between position and
 * velocity, and velocity.
 */
class PlaneFilter {
  x: number;
  y: number;
  velocityX = 0;
  velocityY = 0;
  #pxx: number;
  #pxy: number;
  #pyy: number;
  /** Between the position along the first and the velocity along the second axis named. */
  #mxx = 0;
  #mxy = 0;
  #myx = 0;
  #myy = 0;
  #vxx = FIRST_SPEED2;
  #vxy = 0;
  #vyy = FIRST_SPEED2;

  constructor(x: number, y: number, xx: number, xy: number, yy: number) {
    this.x = x;
    this.y = y;
    this.#pxx = xx;
    this.#pxy = xy;
    this.#pyy = yy;
  }

  /** One standard deviation, both axes together. */
  speedDoubt(): number {
    return Math.sqrt(Math.max(this.#vxx + this.#vyy, 0));
  }

  /** Changes the origin. */
  move(x: number, y: number): void {
    this.x += x;
    this.y += y;
  }

  predict(seconds: number): void {
    const t = seconds;
    this.x += this.velocityX * t;
    this.y += this.velocityY * t;
    const wander = (UNSTEADINESS * t ** 3) / 3;
    this.#pxx += 2 * t * this.#mxx + t * t * this.#vxx + wander;
    this.#pxy += t * (this.#mxy + this.#myx) + t * t * this.#vxy;
    this.#pyy += 2 * t * this.#myy + t * t * this.#vyy + wander;
    const drift = (UNSTEADINESS * t * t) / 2;
    this.#mxx += t * this.#vxx + drift;
    this.#mxy += t * this.#vxy;
    this.#myx += t * this.#vxy;
    this.#myy += t * this.#vyy + drift;
    this.#vxx += UNSTEADINESS * t;
    this.#vyy += UNSTEADINESS * t;
  }

  /** Adds a measured position with its covariance. */
  correct(x: number, y: number, xx: number, xy: number, yy: number): void {
    const [pxx, pxy, pyy] = [this.#pxx, this.#pxy, this.#pyy];
    const [mxx, mxy, myx, myy] = [this.#mxx, this.#mxy, this.#myx, this.#myy];
    const [sxx, sxy, syy] = [pxx + xx, pxy + xy, pyy + yy];
    const determinant = sxx * syy - sxy * sxy;
    // Both exact: no correction possible, and no division by 0.
    if (!(determinant > 0)) return;
    const [ixx, ixy, iyy] = [syy / determinant, -sxy / determinant, sxx / determinant];
    // The Kalman gains.
    const [gxx, gxy] = [pxx * ixx + pxy * ixy, pxx * ixy + pxy * iyy];
    const [gyx, gyy] = [pxy * ixx + pyy * ixy, pxy * ixy + pyy * iyy];
    const [hxx, hxy] = [mxx * ixx + myx * ixy, mxx * ixy + myx * iyy];
    const [hyx, hyy] = [mxy * ixx + myy * ixy, mxy * ixy + myy * iyy];
    const [dx, dy] = [x - this.x, y - this.y];
    this.x += gxx * dx + gxy * dy;
    this.y += gyx * dx + gyy * dy;
    this.velocityX += hxx * dx + hxy * dy;
    this.velocityY += hyx * dx + hyy * dy;
    this.#pxx = pxx - (gxx * pxx + gxy * pxy);
    this.#pxy = pxy - (gxx * pxy + gxy * pyy);
    this.#pyy = pyy - (gyx * pxy + gyy * pyy);
    this.#mxx = mxx - (gxx * mxx + gxy * myx);
    this.#mxy = mxy - (gxx * mxy + gxy * myy);
    this.#myx = myx - (gyx * mxx + gyy * myx);
    this.#myy = myy - (gyx * mxy + gyy * myy);
    this.#vxx -= hxx * mxx + hxy * myx;
    this.#vxy -= hxx * mxy + hxy * myy;
    this.#vyy -= hyx * mxy + hyy * myy;
  }
}

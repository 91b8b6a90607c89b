/**
 * Speed and heading over the ground of each track: a Kalman filter that takes the speed for constant, in metres on the
 * plane that touches the earth where the track is, fed with spots and how sure they are.
 */
import type { Covariance } from "./locate.ts";
import { combine, cross, dot, localFrame, normalise, RADIANS, step, subtract, type Vector } from "./wgs84.ts";

export interface Spot {
  readonly latitude: number;
  readonly longitude: number;
  /** ECEF. */
  readonly point: Vector;
  readonly covariance: Covariance;
  /** Of the error, what is the same from frame to frame and changes with how the camera moves: one standard deviation. */
  readonly lastingM: number;
}

export interface Motion {
  readonly speedMps: number | null;
  /** Degrees from true north; null while it stands or that cannot be told. */
  readonly heading: number | null;
}

/** Better than that a speed must be known to be told: metres a second, or as a part of it. */
const KNOWN_MPS = 2;
const KNOWN_PART = 1 / 3;
const MIN_SPOTS = 3;
const MIN_TIME_S = 0.5;
/** Slower than that something stands: boxes breathe. */
const STANDING_MPS = 0.4;
/** Further from where its plane touches the earth, a track gets another plane. */
const PLANE_REACH_M = 1000;
/** Not seen for so long, a track is forgotten, whoever failed to say that it has ended. */
const FORGET_S = 60;
const MAX_TRACKS = 4096;
/** An error that lasts comes and goes with the turns of the camera, within about this; and so long the filter remembers it. */
const TURN_S = 1;
const MEMORY_S = 2;

export const UNKNOWN_MOTION: Motion = { speedMps: null, heading: null };

interface Course {
  readonly filter: PlaneFilter;
  readonly firstS: number;
  lastS: number;
  spots: number;
  /** The most of late. */
  lastingM: number;
  plane: { origin: Vector; first: Vector; second: Vector };
}

export class Motions {
  /** Those heard of last come last. */
  readonly #courses = new Map<number, Course>();

  get size(): number {
    return this.#courses.size;
  }

  /** Takes a spot that a detection supports. */
  take(id: number, timeS: number, spot: Spot): Motion {
    const known = this.#courses.get(id);
    this.#courses.delete(id);
    const course = known === undefined || timeS < known.lastS ? begin(timeS, spot) : known;
    this.#courses.set(id, course);
    if (course === known) advance(course, timeS, spot);
    this.#forgetOld(timeS);
    return describe(course, spot);
  }

  /** What is known of a track that this frame says nothing new of. */
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
    // The new axes are the old ones, laid flat: nothing that the filter knows turns.
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

/** Of a covariance between two directions. */
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
  // The filter takes the error of each spot for a new one.
  const doubtMps = Math.hypot(filter.speedDoubt(), lastingM / TURN_S);
  if (doubtMps > Math.max(KNOWN_MPS, speedMps * KNOWN_PART)) return UNKNOWN_MOTION;
  const isStanding = speedMps < Math.max(STANDING_MPS, doubtMps / 2);
  return { speedMps, heading: isStanding ? null : toHeading(eastward, northward) };
}

function toHeading(eastward: number, northward: number): number {
  const degrees = Math.atan2(eastward, northward) / RADIANS;
  // Of a number just below 0 the sum is 360.
  const heading = degrees < 0 ? degrees + 360 : degrees;
  return heading < 360 ? heading : 0;
}

/** How much the speed of something changes by itself: metres a second, in one second and along one axis. Squared. */
const UNSTEADINESS = 0.5;
/** What is thought of the speed of something new: that of a car in town. Squared, metres a second. */
const FIRST_SPEED2 = 10 * 10;

/**
 * Place and velocity on a plane. Keeps how unsure both are as three blocks of two by two: of the place, between place and
 * velocity, and of the velocity.
 */
export class PlaneFilter {
  x: number;
  y: number;
  velocityX = 0;
  velocityY = 0;
  #pxx: number;
  #pxy: number;
  #pyy: number;
  /** Between the place along the first and the velocity along the second axis named. */
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

  /** Another origin. */
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

  /** A place that was seen, and how unsure that is. */
  correct(x: number, y: number, xx: number, xy: number, yy: number): void {
    const [pxx, pxy, pyy] = [this.#pxx, this.#pxy, this.#pyy];
    const [mxx, mxy, myx, myy] = [this.#mxx, this.#mxy, this.#myx, this.#myy];
    const [sxx, sxy, syy] = [pxx + xx, pxy + xy, pyy + yy];
    const determinant = sxx * syy - sxy * sxy;
    // Both as sure as can be: there is nothing to learn, and nothing to divide by.
    if (!(determinant > 0)) return;
    const [ixx, ixy, iyy] = [syy / determinant, -sxy / determinant, sxx / determinant];
    // The gains: how far a metre of surprise moves each of the four.
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

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

/** Runs of detection messages made up for tests. */
import type { SeenBox, SeenFrame, SeenObject } from "./frames.ts";

const [WIDTH, HEIGHT] = [1280, 720];

const scale = ([x, y, width, height]: SeenBox): SeenBox => [x / WIDTH, y / HEIGHT, width / WIDTH, height / HEIGHT];

export const seen = (id: number, x: number, part: Partial<SeenObject> = {}): SeenObject => {
  const box = part.box ?? [x, 100, 40, 80];
  return { id, classId: 2, className: "car", box, scaledBox: scale(box), confidence: 80, others: {}, ...part };
};

/** To the right, by pixels. */
export const move = ({ box: [x, ...rest] }: SeenObject, by: number): Pick<SeenObject, "box" | "scaledBox"> => {
  const box: SeenBox = [x + by, ...rest];
  return { box, scaledBox: scale(box) };
};

/** What is in frame n, from 1; null for nothing. */
export type Scene = (frame: number) => readonly (SeenObject | null)[];

/** 25 fps. */
export const film = (scene: Scene, frames = 40): readonly SeenFrame[] =>
  Array.from({ length: frames }, (_, index) => ({
    timeMs: index * 40,
    others: {},
    objects: scene(index + 1).filter((object) => object !== null),
  }));

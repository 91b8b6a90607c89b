/** Reads a media playlist and checks it against the standard. */
import assert from "node:assert/strict";

export interface ReadPart {
  readonly uri: string;
  readonly duration: number;
  readonly isIndependent: boolean;
}

export interface ReadSegment {
  readonly number: number;
  /** Null while it is growing. */
  readonly uri: string | null;
  readonly duration: number;
  readonly map: string;
  readonly isDiscontinuous: boolean;
  readonly date: number;
  readonly parts: readonly ReadPart[];
}

export interface ReadPlaylist {
  readonly text: string;
  readonly target: number;
  readonly partTarget: number;
  readonly holdBack: number;
  readonly sequence: number;
  readonly discontinuities: number;
  readonly segments: readonly ReadSegment[];
  readonly hint: string | null;
  readonly isEnded: boolean;
}

export function readPlaylist(text: string): ReadPlaylist {
  const value = (tag: string): string | undefined => new RegExp(`^#${tag}:(.*)$`, "m").exec(text)?.[1];
  const attribute = (line: string | undefined, name: string): string | undefined =>
    new RegExp(`(?:^|[,:])${name}=("[^"]*"|[^,]*)`).exec(line ?? "")?.[1]?.replaceAll('"', "");
  const sequence = Number(value("EXT-X-MEDIA-SEQUENCE"));
  const segments: ReadSegment[] = [];
  const blank = { map: "", isDiscontinuous: false, date: Number.NaN, duration: 0, parts: [] as ReadPart[] };
  let next = { ...blank };
  for (const line of text.split("\n")) {
    if (line === "#EXT-X-DISCONTINUITY") next.isDiscontinuous = true;
    else if (line.startsWith("#EXT-X-MAP:")) next.map = attribute(line, "URI") ?? "";
    else if (line.startsWith("#EXT-X-PROGRAM-DATE-TIME:")) next.date = Date.parse(line.slice(25));
    else if (line.startsWith("#EXTINF:")) next.duration = Number.parseFloat(line.slice(8));
    else if (line.startsWith("#EXT-X-PART:")) {
      const duration = Number(attribute(line, "DURATION"));
      const isIndependent = attribute(line, "INDEPENDENT") === "YES";
      next.parts.push({ uri: attribute(line, "URI") ?? "", duration, isIndependent });
    } else if (line !== "" && !line.startsWith("#")) {
      segments.push({ ...next, number: sequence + segments.length, uri: line });
      next = { ...blank, map: next.map, parts: [] };
    }
  }
  if (next.parts.length > 0) segments.push({ ...next, number: sequence + segments.length, uri: null });
  return {
    text,
    sequence,
    segments,
    target: Number(value("EXT-X-TARGETDURATION")),
    partTarget: Number(attribute(value("EXT-X-PART-INF"), "PART-TARGET")),
    holdBack: Number(attribute(value("EXT-X-SERVER-CONTROL"), "PART-HOLD-BACK")),
    discontinuities: Number(value("EXT-X-DISCONTINUITY-SEQUENCE") ?? 0),
    hint: attribute(value("EXT-X-PRELOAD-HINT"), "URI") ?? null,
    isEnded: /^#EXT-X-ENDLIST$/m.test(text),
  };
}

/** draft-pantos-hls-rfc8216bis: requirements for every playlist. */
export function checkPlaylist(playlist: ReadPlaylist): void {
  const { text, target, partTarget, holdBack, segments, hint, isEnded } = playlist;
  assert.match(text, /^#EXTM3U\n/);
  assert.match(text, /CAN-BLOCK-RELOAD=YES/);
  assert.ok(holdBack >= 3 * partTarget - 1e-4, `a hold back of ${holdBack}`);
  assert.equal(hint === null, isEnded);
  for (const { duration, parts, map, date, uri } of segments) {
    assert.ok(Math.round(duration) <= target, `a segment of ${duration} s where ${target} s was promised`);
    assert.notEqual(map, "");
    assert.ok(Number.isFinite(date));
    for (const part of parts) assert.ok(part.duration <= partTarget + 1e-4, `a part of ${part.duration} s`);
    const sum = parts.reduce((total, part) => total + part.duration, 0);
    if (uri !== null && parts.length > 0)
      assert.ok(Math.abs(sum - duration) < 1e-3, `${sum} s of parts in ${duration} s`);
  }
}

/** Requirements for a playlist update. */
export function checkSuccession(before: ReadPlaylist, after: ReadPlaylist): void {
  assert.equal(after.target, before.target);
  assert.equal(after.partTarget, before.partTarget);
  assert.ok(after.sequence >= before.sequence);
  for (const old of before.segments) {
    const now = after.segments.find(({ number }) => number === old.number);
    if (now === undefined) {
      assert.ok(old.number < after.sequence, `segment ${old.number} is there or has gone`);
      continue;
    }
    assert.equal(now.date, old.date);
    assert.equal(now.map, old.map);
    assert.equal(now.isDiscontinuous, old.isDiscontinuous);
    if (old.uri !== null) assert.equal(now.uri, old.uri);
    if (now.parts.length > 0) assert.deepEqual(now.parts.slice(0, old.parts.length), old.parts);
  }
}

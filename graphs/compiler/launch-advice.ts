/** What gst-launch understands and a launch line does not, or not in this place: what to write instead. */

interface Advice {
  readonly message: string;
  readonly expected: string;
}

const ADVICE: readonly (readonly [pattern: RegExp, message: string, expected: string])[] = [
  [/^([\w-]+\.)?\(|^\)/, "makes a bin, which a launch line has not", "the elements without brackets: `a ! b ! c`"],
  [/^#/, "begins a comment, which a launch line has not", "elements, properties and caps only"],
  [
    /^gst-launch/,
    "is a program, not an element",
    "the line behind it, without its options: `element property=value ! element`",
  ],
  [
    /^-/,
    "is an option of gst-launch",
    "options of `windhover launch` outside of the line; Ctrl-C always ends the stream as -e does, --log LEVELS is --gst-debug",
  ],
  [/^:$/, "links all pads at once", "one link for each pad: `a.pad ! b.pad`"],
  [/^\.[\w%]/, "names a pad without its element", "`name=x` at the element, and `x.pad ! …` or `… ! x.pad`"],
  [/^[\w-]+\.[\w%]+,/, "names several pads", "one link for each pad: `a.video_0 ! … a.audio_0 ! …`"],
  [/^=/, "has no property before it", "`property=value` behind an element"],
];

/** Null when nothing better can be said than what a word may be. */
export function adviseOnWord(word: string): Advice | null {
  const found = ADVICE.find(([pattern]) => pattern.test(word));
  return found === undefined ? null : { message: `\`${word}\` ${found[1]}`, expected: found[2] };
}

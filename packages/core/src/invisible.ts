/**
 * Finds what a reader cannot see in a text: invisible characters, and letters of other scripts that look like Latin
 * ones.
 * Emoji, and the marks that a script needs between its own letters, are left as they are.
 */

/** Every default-ignorable code point, the blank Braille pattern, a note without a head, and the marks of hidden annotations and objects. */
export const invisible: RegExp = /[\p{Default_Ignorable_Code_Point}\u{2800}\u{1d159}\u{fff9}-\u{fffc}]/v;

/** Invisible characters that belong to the writing. No alternative matches something that could carry a hidden message. */
const ordinary = (): readonly RegExp[] => [
  // Flags of regions, key caps, emoji and text presentation, and emoji that are joined.
  /\p{RGI_Emoji_Tag_Sequence}/v,
  /(?<=[0-9#*])\u{fe0f}(?=\u{20e3})/v,
  /(?<=[\p{Emoji}--[0-9#*]])[\u{fe0e}\u{fe0f}]/v,
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{fe0f}])\u{200d}(?=\p{Extended_Pictographic})/v,
  // Scripts whose letters take another form beside a joiner or a non-joiner.
  /(?<=[[\p{L}\p{M}]&&[\p{scx=Arab}\p{scx=Syrc}\p{scx=Nkoo}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]])[\u{200c}\u{200d}](?=[[\p{L}\p{M}]&&[\p{scx=Arab}\p{scx=Syrc}\p{scx=Nkoo}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]])/v,
  // Words of scripts without spaces, and directions beside letters that run from right to left.
  /(?<=[\p{scx=Khmr}\p{scx=Laoo}\p{scx=Mymr}\p{scx=Thai}])\u{200b}(?=[\p{scx=Khmr}\p{scx=Laoo}\p{scx=Mymr}\p{scx=Thai}])/v,
  /(?<=[[\p{L}\p{M}]&&[\p{scx=Arab}\p{scx=Hebr}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}]])[\u{200e}\u{200f}\u{61c}]|[\u{200e}\u{200f}\u{61c}](?=[[\p{L}\p{M}]&&[\p{scx=Arab}\p{scx=Hebr}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}]])/v,
  // One variant of a Han or Mongolian letter; blanks within Braille.
  /(?<=\p{scx=Han})[\u{fe00}-\u{fe02}\u{e0100}-\u{e01ef}]/v,
  /(?<=[\p{L}&&\p{scx=Mong}])[\u{180b}-\u{180f}]/v,
  /(?<=[\u{2801}-\u{28ff}])\u{2800}|\u{2800}(?=[\u{2801}-\u{28ff}])/v,
];

/** Letters of Greek, Cyrillic, Armenian and other scripts, each with the Latin letter that it looks like. */
const alike = [
  "ΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXνvοoρpυuιiϲcϳjϜFϺM",
  "АAВBЕEԌGЅSІIЈJКKМMНHОOРPСCТTУYԜWХXѴVаaеeоoрpсcуyхxѕsіiјjһhԁdԛqԝwѡwӏlѵvүy",
  "սuոnցgհhօoքpՕOՏSԼLՍU",
  "ᎠDᎡRᎢTᎥIᎩYᎪAᎫJᎬEᎳWᎷMᎻHᏀGᏃZᏙVᏚSᏞLᏟCᏢPᏦKᏴB",
  "ⲀAⲂBⲈEⲎHⲒIⲔKⲘMⲚNⲞOⲢPⲤCⲦTⲨYⲬXⲟoⲣpⲥcⲩyⲭx",
  "ꓐBꓑPꓓDꓔTꓖGꓗKꓙJꓚCꓜZꓝFꓟMꓠNꓡLꓢSꓣRꓦVꓧHꓪWꓫXꓬYꓮAꓰEꓲIꓳOꓴU",
].join("");
export const latinLetters: ReadonlyMap<string, string> = new Map(
  [...alike.matchAll(/(.)(.)/gu)].map(([, other = "", latin = ""]) => [other, latin]),
);

/** Patterns over sets of letters. */
interface LetterPatterns {
  readonly ordinaryOrNot: RegExp;
  /**
   * Letters that look like Latin ones: some of Greek, Cyrillic and Armenian, those of scripts that are not written within
   * a Latin word, and Latin in full width or as mathematics.
   */
  readonly lookAlike: RegExp;
  readonly otherLetters: RegExp;
  /** Letters that are neither Latin nor look like it: a word with one of them is a word of that script. */
  readonly ownLetters: RegExp;
}

/** Nothing in such a text is hidden or looks like something else, so that no pattern over letters is compiled for it. */
const ascii = /^\p{ASCII}*$/u;

let made: LetterPatterns | undefined;

/** Made with the first text beyond ASCII, because compiling them takes longer than loading the rest of this package. */
export function letterPatterns(): LetterPatterns {
  made ??= compiled();
  return made;
}

function compiled(): LetterPatterns {
  const alikeScripts =
    "\\p{sc=Cherokee}\\p{sc=Coptic}\\p{sc=Lisu}\\p{sc=Cans}\\p{sc=Wara}\\p{sc=Lyci}\\p{sc=Cari}\\p{sc=Ital}\\p{sc=Elba}\\p{sc=Tfng}\\p{sc=Runic}\\p{sc=Plrd}\\p{sc=Dsrt}\\p{sc=Osge}";
  const styles = "\\u{2102}-\\u{2149}\\u{2160}-\\u{217f}\\u{ff21}-\\u{ff3a}\\u{ff41}-\\u{ff5a}\\u{1d400}-\\u{1d7ff}";
  const letters = `${[...latinLetters.keys()].join("")}${alikeScripts}${styles}`;
  const harmless = ordinary().map(({ source }) => source);
  return {
    ordinaryOrNot: new RegExp(`(${harmless.join("|")})|${invisible.source}`, "gv"),
    lookAlike: new RegExp(`[${letters}]`, "v"),
    otherLetters: new RegExp(`[${letters}]`, "gv"),
    ownLetters: new RegExp(`[\\p{L}--[\\p{scx=Latin}${letters}]]`, "v"),
  };
}

const words = /[\p{L}\p{M}\p{N}_]+/gv;

/** The text with every invisible character as `[U+200B]`, except where it belongs to the writing. */
export function showInvisible(text: string): string {
  return invisible.test(text)
    ? text.replaceAll(letterPatterns().ordinaryOrNot, (found, known?: string) => known ?? codePointOf(found))
    : text;
}

/** As `showInvisible`, and look-alike letters within a Latin word are shown as codes too. For untrusted texts that a model or a person reads. */
export function showHidden(text: string): string {
  if (ascii.test(text)) return text;
  const shown = showInvisible(text);
  const { lookAlike, otherLetters, ownLetters } = letterPatterns();
  if (!lookAlike.test(shown)) return shown;
  return shown.replaceAll(words, (word) =>
    /[A-Za-z]/.test(word) && !ownLetters.test(word) ? word.replaceAll(otherLetters, codePointOf) : word,
  );
}

/** Without quotes and backslashes, so JSON within the text stays JSON. */
function codePointOf(character: string): string {
  return `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`;
}

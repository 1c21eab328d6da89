/**
 * Makes an untrusted text safe to show to a person who decides about it. Characters that are hidden, move the cursor or only
 * look like a letter become `\u{…}`. A text in another script stays readable, except for words that mix scripts.
 */
export function reveal(text: string): string {
  const latin = text.match(asciiLetters)?.length ?? 0;
  const other = text.match(foreignLetters)?.length ?? 0;
  return text
    .replaceAll("\\u{", "\\\\u{") // the author typed this, so it must not look like one of our escapes
    .replaceAll(hidden, codePointOf)
    .replaceAll(words, (word) => (latin >= other || isMixed(word) ? word.replaceAll(strange, codePointOf) : word));
}

const asciiLetters = /[A-Za-z]/g;
const foreignLetters = /(?![A-Za-z])\p{L}/gu;
/** Controls, format and private-use characters, odd spaces, fillers, and the selectors that can carry hidden bytes. */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]|(?! )\p{Zs}/gu;
const words = /[\p{L}\p{M}\p{N}\p{Pc}\p{Sk}]+/gu;
/** Everything except ASCII and the common accented Latin letters, which do not look like other letters. */
const strange =
  /[^ -~\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{130}\u{132}-\u{148}\u{14a}-\u{17e}\u{218}-\u{21b}\u{1e00}-\u{1e99}\u{1ea0}-\u{1eff}]/gu;

/** Whether a word has a Latin letter, or another form of one (fullwidth, mathematical). */
function isMixed(word: string): boolean {
  return /[A-Za-z]/.test(word.normalize("NFKC"));
}

function codePointOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

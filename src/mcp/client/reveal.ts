/**
 * A stranger's text as it can be shown to a person who decides about it: what is hidden, moves the cursor, or is only
 * drawn like a letter is spelled out as `\u{…}`. In a text of another script its own words stay readable, and the words
 * that mix scripts are spelled out.
 */
export function reveal(text: string): string {
  const latin = text.match(asciiLetters)?.length ?? 0;
  const other = text.match(foreignLetters)?.length ?? 0;
  return text
    .replaceAll("\\u{", "\\\\u{") // typed so by the author: not to be taken for one of ours
    .replaceAll(hidden, spelled)
    .replaceAll(words, (word) => (latin >= other || isMixed(word) ? word.replaceAll(strange, spelled) : word));
}

const asciiLetters = /[A-Za-z]/g;
const foreignLetters = /(?![A-Za-z])\p{L}/gu;
/** Controls, format and private-use characters, odd spaces, fillers, and the selectors that can carry hidden bytes. */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}]|(?! )\p{Zs}/gu;
const words = /[\p{L}\p{M}\p{N}\p{Pc}\p{Sk}]+/gu;
/** All but ASCII and the accented Latin letters of everyday texts, which are not drawn like others. */
const strange =
  /[^ -~\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{130}\u{132}-\u{148}\u{14a}-\u{17e}\u{218}-\u{21b}\u{1e00}-\u{1e99}\u{1ea0}-\u{1eff}]/gu;

/** With a Latin letter in it, or one that stands for a Latin letter in another form (fullwidth, mathematical). */
function isMixed(word: string): boolean {
  return /[A-Za-z]/.test(word.normalize("NFKC"));
}

function spelled(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/**
 * Splits a text so that a person who decides sees every hidden or misleading character.
 * Stricter than invisible.ts: only emoji keep invisible characters. The console, the command line and Slack use it, and
 * draw the parts in their own way.
 */
import { invisible, letterPatterns } from "./invisible.ts";

export interface TextPart {
  readonly text: string;
  /** `invisible`: one invisible character. `look-alike`: one letter that may be taken for a Latin one. */
  readonly is: "plain" | "invisible" | "look-alike";
}

const inEmoji = /[\u{200d}\u{fe0f}\u{e0020}-\u{e007f}]/v;
/** Often written beside Latin letters and not mistaken for them: CJK, and the signs of units. */
const ordinary = "\\p{scx=Latin}\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}\\p{scx=Bopo}µμΩ\\u{2126}";
/** Latin in another style: as mathematics, in full width, in circles. */
const styled =
  "\\u{2102}-\\u{2149}\\u{2160}-\\u{217f}\\u{24b6}-\\u{24e9}\\u{ff21}-\\u{ff3a}\\u{ff41}-\\u{ff5a}\\u{1d400}-\\u{1d7ff}";
/** Latin letters of phonetics and of few languages. */
const rare =
  "\\u{18d}\\u{1a7}\\u{1bc}\\u{1e9d}\\u{10320}\\u{3033}\\u{250}-\\u{2af}\\u{1d00}-\\u{1dbf}\\u{a730}-\\u{a7ff}\\u{ab30}-\\u{ab6f}";
/** Between Latin letters these signs pass for `/`, `.`, `:`, `@`, `-`, `_` and letters. */
const signs =
  "\\u{2024}\\u{2044}\\u{2215}\\u{29f8}\\u{2236}\\u{a789}\\u{ff0e}\\u{ff0f}\\u{ff1a}\\u{ff20}\\u{3002}\\u{1735}\\u{2571}\\u{27cb}\\u{31d3}\\u{589}\\u{16ec}\\u{1809}\\u{205a}\\u{2d7}\\u{fe58}\\u{fe4e}\\u{22ff}\\u{2223}\\u{222a}\\u{2373}\\u{1d206}\\u{1d20d}\\u{1d213}\\u{1f768}\\u{2a2f}\\u{2db}";
const strangeSign = `(?<=[A-Za-z0-9])[${signs}](?=[A-Za-z0-9])`;
/** Without controls, because line breaks are shown. The ellipsis ends a text that was cut. */
const printable = /^[ -~…]*$/;
const inWord = /[\p{L}\p{M}\p{N}_]/v;
const asciiLetter = /[A-Za-z]/;

type CardPatterns = ReturnType<typeof compiled>;
let made: CardPatterns | undefined;

/** Made with the first text that is not `printable`, as `letterPatterns`. */
function cardPatterns(): CardPatterns {
  made ??= compiled();
  return made;
}

function compiled() {
  /** What draws nothing, controls, formats, line separators, half pairs, private use, code points that are no character. */
  const hidden = `[${invisible.source}\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}\\p{Co}\\p{Noncharacter_Code_Point}]`;
  const strangeInLatin = `[[[\\p{L}\\p{M}\\p{Nd}]--[${ordinary}\\p{scx=Zinh}0-9]]${styled}${rare}]`;
  return {
    ...letterPatterns(),
    hidden: new RegExp(hidden, "v"),
    hiddenOnly: new RegExp(`()${hidden}`, "gv"),
    hiddenOrEmoji: new RegExp(`(?=\\p{Emoji})(\\p{RGI_Emoji}\\u{fe0f}?)|${hidden}`, "gv"),
    strangeInLatin: new RegExp(strangeInLatin, "v"),
    anyStyled: new RegExp(`[${styled}]`, "v"),
    suspicious: new RegExp(`${strangeInLatin}|${strangeSign}`, "v"),
    wordOrSign: new RegExp(`([\\p{L}\\p{M}\\p{N}_]+|${strangeSign})`, "v"),
  };
}

/** Adjacent plain characters are one part. */
export function partsOf(text: string): readonly TextPart[] {
  if (printable.test(text)) return [{ text, is: "plain" }];
  const { hidden, suspicious, ownLetters, hiddenOrEmoji, hiddenOnly } = cardPatterns();
  if (!hidden.test(text) && !suspicious.test(text)) return [{ text, is: "plain" }];
  const parts: TextPart[] = [];
  const isOtherScript = ownLetters.test(text); // then a word of look-alike letters may be a word of that script
  let from = 0;
  for (const match of text.matchAll(inEmoji.test(text) ? hiddenOrEmoji : hiddenOnly)) {
    if (match[1]) continue; // a whole emoji
    addPlain(text.slice(from, match.index), isOtherScript, parts);
    parts.push({ text: match[0], is: "invisible" });
    from = match.index + match[0].length;
  }
  addPlain(text.slice(from), isOtherScript, parts);
  return parts;
}

/** The text with each part that is not plain written as its code. */
export function withHiddenShown(text: string, show: (part: TextPart) => string = codeOf): string {
  const parts = partsOf(text);
  return parts.length === 1 && parts[0]?.is === "plain"
    ? text
    : parts.map((part) => (part.is === "plain" ? part.text : show(part))).join("");
}

/** `\u{200b}` */
export function codeOf({ text }: Pick<TextPart, "text">): string {
  return `\\u{${(text.codePointAt(0) ?? 0).toString(16)}}`;
}

function addPlain(piece: string, isOtherScript: boolean, parts: TextPart[]): void {
  const { suspicious } = cardPatterns();
  let plain = "";
  const put = (run: string, isStrange: boolean): void => {
    if (!isStrange) {
      plain += run;
      return;
    }
    if (plain !== "") parts.push({ text: plain, is: "plain" });
    plain = "";
    parts.push({ text: run, is: "look-alike" });
  };
  for (const token of suspicious.test(piece) ? piece.split(/(\s+)/) : [piece]) {
    if (suspicious.test(token)) addToken(token, !isOtherScript || asciiLetter.test(token), put);
    else plain += token;
  }
  if (plain !== "") parts.push({ text: plain, is: "plain" });
}

/** In a word with Latin letters, letters of other scripts are strange. In other words, only look-alikes of Latin letters are. */
function addToken(token: string, isDoubtful: boolean, put: (run: string, isStrange: boolean) => void): void {
  const { wordOrSign, strangeInLatin, ownLetters, lookAlike, anyStyled } = cardPatterns();
  for (const [at, run] of token.split(wordOrSign).entries()) {
    const isWord = inWord.test(run);
    const strange = asciiLetter.test(run)
      ? strangeInLatin
      : isDoubtful && !ownLetters.test(run)
        ? lookAlike
        : anyStyled;
    if (at % 2 === 0) put(run, false);
    else if (!isWord) put(run, true);
    else if (!strange.test(run)) put(run, false);
    else for (const character of run) put(character, strange.test(character));
  }
}

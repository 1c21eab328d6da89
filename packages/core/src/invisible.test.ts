import { expect, it } from "vitest";
import { corpus } from "../../../test/fakes/corpus.ts";
import { showHidden, showInvisible } from "./invisible.ts";

const tagged = (text: string): string =>
  [...text].map((letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join("");

it.each([
  ["a zero-width space", "ig\u{200b}nore", "ig[U+200B]nore"],
  ["a joiner between Latin letters", "a\u{200d}b", "a[U+200D]b"],
  ["a bidi override", "a\u{202e}b", "a[U+202E]b"],
  ["an isolate in Hebrew", "\u{5d0}\u{2066}\u{5d1}", "\u{5d0}[U+2066]\u{5d1}"],
  ["tag letters", `x${tagged("hi")}`, "x[U+E0068][U+E0069]"],
  ["tag letters after a flag that is none", `\u{1f3f4}${tagged("hi")}`, "\u{1f3f4}[U+E0068][U+E0069]"],
  ["variation selectors that carry bytes", "\u{1f600}\u{fe01}\u{e0101}", "\u{1f600}[U+FE01][U+E0101]"],
  ["a second selector", "\u{2764}\u{fe0f}\u{fe0f}", "\u{2764}\u{fe0f}[U+FE0F]"],
  ["a selector after a digit", "5\u{fe0f}", "5[U+FE0F]"],
  ["a soft hyphen", "so\u{ad}ft", "so[U+00AD]ft"],
  ["fillers", "\u{115f}\u{3164}\u{ffa0}\u{2800}", "[U+115F][U+3164][U+FFA0][U+2800]"],
  ["unassigned ignorable code points", "\u{2065}\u{fff0}\u{e0fff}", "[U+2065][U+FFF0][U+E0FFF]"],
  ["the grapheme joiner", "a\u{34f}b", "a[U+034F]b"],
  ["a byte order mark", "a\u{feff}b", "a[U+FEFF]b"],
  ["two non-joiners in a row", "\u{645}\u{200c}\u{200c}\u{62e}", "\u{645}[U+200C][U+200C]\u{62e}"],
])("shows %s", (_, text, shown) => {
  expect(showInvisible(text)).toBe(shown);
});

it("shows every default-ignorable code point between Latin letters", () => {
  const missed = Array.from({ length: 0x110000 }, (_, point) => String.fromCodePoint(point))
    .filter((character) => /\p{Default_Ignorable_Code_Point}/u.test(character))
    .filter((character) => showInvisible(`a${character}b`).includes(character));
  expect(missed).toEqual([]);
});

it.each([
  ["emoji that are joined", "👩‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 🏴‍☠️"],
  ["emoji with selectors", "❤️ ☎︎ ©️ 1️⃣ #️⃣ ✈️"],
  ["flags of regions", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿"],
  ["Persian", "می\u{200c}خواهم کتاب\u{200c}ها را ببینم."],
  ["Arabic with a mark of direction", "مرحبا\u{200f}! (C++)"],
  ["Hebrew with points", "שָׁלוֹם עוֹלָם\u{200f}"],
  ["Hindi", "क्\u{200d}षेत्र में र्\u{200d}य और क्\u{200c}ष"],
  ["Malayalam", "ന്\u{200d}റെ"],
  ["Thai with word breaks", "ภาษา\u{200b}ไทย"],
  ["a variant of a Han letter", "葛\u{e0100}城"],
  ["Russian", "Сохраняет файл и отправляет письмо."],
  ["Greek", "Αποθηκεύει το αρχείο"],
  ["units and names of proteins", "10 kΩ, TNFα, NFκB, 5 µm"],
  ["Japanese with Latin words", "APIを呼び出すTシャツ ＵＳＢ"],
  ["accents", "naïve café, Łódź, e\u{301}"],
])("leaves %s as they are", (_, text) => {
  expect(showHidden(text)).toBe(text);
});

it.each([
  ["s\u{435}nd_mail", "s[U+0435]nd_mail"],
  ["g\u{3bf}\u{3bf}gle", "g[U+03BF][U+03BF]gle"],
  ["\u{ff53}end", "[U+FF53]end"],
  ["\u{1d41b}ank", "[U+1D41B]ank"],
])("shows letters that pose as Latin ones: %s", (text, shown) => {
  expect(showHidden(text)).toBe(shown);
});

interface Confusable {
  readonly ascii: string;
  readonly c: string;
}

it("shows the invisible ones among the published look-alikes", () => {
  const rows = corpus<Confusable>("confusables/to_ascii.dev.json");
  const hidden = rows.filter(({ c }) => /\p{Default_Ignorable_Code_Point}/u.test(c));
  expect(hidden.filter(({ c }) => showHidden(`ab${c}cd`).includes(c))).toEqual([]);
});

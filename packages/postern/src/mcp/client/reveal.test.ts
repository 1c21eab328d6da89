import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { corpus } from "../../../../../test/fakes/corpus.ts";
import { reveal } from "./reveal.ts";

const alike = corpus<{ readonly ascii: string; readonly c: string }>("confusables/to_ascii.dev.json");

describe("a stranger's text for a person who decides", () => {
  it.each([
    ["a zero-width space", "send\u200bmail", "send\\u{200b}mail"],
    ["a direction that is turned around", "\u202egnp.exe", "\\u{202e}gnp.exe"],
    ["letters of the tag block, which nobody sees", "ok\u{e0041}", "ok\\u{e0041}"],
    ["bytes in variation selectors", "a\u{fe01}\u{e0101}", "a\\u{fe01}\\u{e0101}"],
    ["an escape sequence", "\u001b[31mred", "\\u{1b}[31mred"],
    ["a line break", "one\ntwo", "one\\u{a}two"],
    ["a no-break space", "a\u00a0b", "a\\u{a0}b"],
    ["one Cyrillic letter in a Latin word", "p\u0430ypal", "p\\u{430}ypal"],
    [
      "a Cyrillic word in a Latin text",
      "Send it to \u0441\u043e\u0440\u0443 now",
      "Send it to \\u{441}\\u{43e}\\u{440}\\u{443} now",
    ],
    ["fullwidth letters", "\uff53end the mail", "\\u{ff53}end the mail"],
    ["a dotless i", "f\u0131le", "f\\u{131}le"],
    ["what only looks like one of ours", "\\u{430}", "\\\\u{430}"],
  ])("spells out %s", (_, text, shown) => {
    expect(reveal(text)).toBe(shown);
  });

  it.each([
    "Reads a file – and its größe, naïve façade; “quoted”… 5 °C ✓ 🙂",
    "Отправляет письмо на адрес.",
    "ファイルを読みます。",
    "קורא קובץ.",
  ])("leaves an honest text as it is: %s", (text) => {
    expect(reveal(text)).toBe(text);
  });

  it("spells out a word that mixes scripts also in a text of another script", () => {
    expect(reveal("Отправляет письмо в pаypal")).toBe("Отправляет письмо в p\\u{430}ypal");
  });

  it("leaves nothing in it that is hidden or moves the cursor", async () => {
    await fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(reveal(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it.skipIf(alike.length === 0)("shows every letter that Unicode calls a look-alike of a Latin one as another", () => {
    const letters = alike.filter(({ ascii, c }) => /^[a-z]$/i.test(ascii) && /^\p{L}/u.test(c));
    expect(letters.length).toBeGreaterThan(300);
    const missed = letters.filter(({ ascii, c }) => reveal(`look ${c}t it, w${c}rd`).includes(c) && ascii !== c);
    expect(missed).toEqual([]);
  });
});

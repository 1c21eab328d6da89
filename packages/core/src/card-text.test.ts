import { describe, expect, it } from "vitest";
import { partsOf, withHiddenShown } from "./card-text.ts";

describe("a text on a card", () => {
  it.each([
    0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f, 0x200b, 0x200c, 0x200d, 0x200e, 0x202e,
    0x2060, 0x2064, 0x2065, 0x2066, 0x206f, 0x2800, 0x3164, 0xfe00, 0xfe0e, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0xfff8,
    0xfff9, 0xfffc, 0xffff, 0x1d159, 0x1bca0, 0x1d173, 0xe0000, 0xe0001, 0xe0041, 0xe007f, 0xe0100, 0xe01ef, 0xe0fff,
  ])("shows U+%x after a letter, after Han, and between Arabic letters", (point) => {
    const character = String.fromCodePoint(point);
    const code = `\\u{${point.toString(16)}}`;
    for (const [before, after] of [
      ["a", "b"],
      ["漢", "字"],
      ["ب", "ب"],
    ])
      expect(withHiddenShown(`${before}${character}${after}`)).toBe(`${before}${code}${after}`);
  });

  it("shows each control of ASCII, and leaves each other character of it as it is", () => {
    for (let point = 0; point < 0x80; point += 1) {
      const character = String.fromCodePoint(point);
      const isControl = point < 0x20 || point === 0x7f;
      expect(partsOf(`a${character}b`).map(({ is }) => is)).toEqual(
        isControl ? ["plain", "invisible", "plain"] : ["plain"],
      );
    }
  });

  it("shows a message that is hidden in variation selectors", () => {
    const hidden = [..."rm -rf"].map((one) => String.fromCodePoint(0xe0100 + one.charCodeAt(0))).join("");
    expect(partsOf(`ok${hidden}`).filter(({ is }) => is === "invisible")).toHaveLength(6);
  });

  it("leaves emoji whole, and shows what only looks like the start of one", () => {
    for (const text of [
      "❤️ 1️⃣ 😀️",
      "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
      "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    ])
      expect(withHiddenShown(text)).toBe(text);
    expect(withHiddenShown("1\ufe0f")).toBe("1\\u{fe0f}");
    expect(withHiddenShown("😀\u200d😀")).toBe("😀\\u{200d}😀");
    expect(withHiddenShown("\u{1f3f4}\u{e0061}")).toBe("\u{1f3f4}\\u{e0061}");
  });

  it.each([
    ["pаypal.com", "p\\u{430}ypal.com"],
    ["аррӏе.com", "\\u{430}\\u{440}\\u{440}\\u{4cf}\\u{435}.com"],
    ["сору", "\\u{441}\\u{43e}\\u{440}\\u{443}"],
    ["payжpal", "pay\\u{436}pal"],
    ["αdmin", "\\u{3b1}dmin"],
    ["adⅿin", "ad\\u{217f}in"],
    ["ｓend", "\\u{ff53}end"],
    ["𝗌end", "\\u{1d5cc}end"],
    ["ɡit", "\\u{261}it"],
    ["ⅽopy ᎪᏢᏆ", "\\u{217d}opy \\u{13aa}\\u{13e2}\\u{13c6}"],
    ["user1٠", "user1\\u{660}"],
    ["acme.com∕evil", "acme.com\\u{2215}evil"],
  ])("marks the letters of %s that may be taken for others", (text, shown) => {
    expect(withHiddenShown(text)).toBe(shown);
  });

  it.each([
    "plain, ünïcode, naïve Zürich",
    "Москва рядом, оса и нос",
    "hello мир",
    "Москва.example.com",
    "Ελλάδα και άλλα",
    "漢字 Tシャツ API서버",
    "5 µm, 3×4, 10–20",
    "किताब, สวัสดี, שלום, مرحبا",
  ])("leaves %s as it is written", (text) => expect(withHiddenShown(text)).toBe(text));

  it("marks each letter of the published list of look-alikes", () => {
    for (const letter of "ᴄꓐꭰｅꓝցһіјⲕӏⅿոօрԛгѕтυѵѡхуᴢ")
      expect(withHiddenShown(`se${letter}nd`)).not.toBe(`se${letter}nd`);
  });

  it("loses nothing", () => {
    const text = "a\u200bb раyраl ❤️ 漢\u{e0100} ｓ\n\ud800";
    expect(
      partsOf(text)
        .map((part) => part.text)
        .join(""),
    ).toBe(text);
  });
});

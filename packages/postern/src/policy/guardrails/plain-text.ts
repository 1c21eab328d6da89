import { latinLetters } from "@postern/core";

const escapeCode = String.fromCodePoint(0x1b);
/** Codes of terminals: colours, links. */
const terminalCodes = new RegExp(
  `${escapeCode}(?:\\[[0-9;?]{0,30}[@-~]|\\].{0,2000}?(?:\\u{7}|${escapeCode}\\\\))`,
  "gu",
);
/** A reader sees a blank. Compatibility forms of the fillers become these. */
const blanks = /[\u{115f}\u{1160}\u{2800}]/gu;
const unseen = /[\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu;
/** Latin letters in other forms, which have no decomposition. */
const latinForms = "ıiłløođdħhŧtɑaɡgɩiɪiʏyʜhʟlɴnʀrʙbᴀaᴄcᴅdᴇeᴊjᴋkᴍmᴏoᴘpꜱsᴛtᴜuᴠvᴡwᴢz";
const letters = new Map([...latinLetters, ...pairsIn(latinForms)]);
const unusual = new RegExp(`[${[...letters.keys()].join("")}]`, "gu");

function pairsIn(text: string): readonly (readonly [string, string])[] {
  return [...text.matchAll(/(.)(.)/gu)].map(([, other = "", latin = ""]) => [other, latin] as const);
}

/** Removes what hides a text from a search but not from a reader: other forms of letters and digits, invisible characters. */
export function withoutDisguise(text: string): string {
  return text
    .replaceAll(terminalCodes, "")
    .normalize("NFKD")
    .replaceAll(blanks, " ")
    .replaceAll(unseen, "")
    .replaceAll(unusual, (letter) => letters.get(letter) ?? letter);
}

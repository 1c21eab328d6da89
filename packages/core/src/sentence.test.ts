import { expect, it } from "vitest";
import { asSentence } from "./shown.ts";

it.each([
  ["wrong account", "wrong account."],
  [" wrong account \n", "wrong account."],
  ["Wrong account!", "Wrong account!"],
  ['It says "no."', 'It says "no."'],
  ["等等。", "等等。"],
  ["", ""],
])("ends %j as a sentence", (text, sentence) => {
  expect(asSentence(text)).toBe(sentence);
});

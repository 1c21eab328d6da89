import { expect, it } from "vitest";
import { commandName, withoutValues } from "./command-name.ts";

it.each([
  ["none", {}, ""],
  ["a folder", { data: "/srv/postern" }, " --data …"],
  ["one with a blank and a quote", { data: "/srv/ann's books/a" }, " --data …"],
  ["more of them", { config: "a b.yaml", data: "x'y", port: "7421" }, " --config … --data … --port …"],
  ["what looks like another flag", { data: "' --port 1" }, " --data …"],
])("tells strangers which flags belong to a command and not what they say (%s)", (_, flags, told) => {
  const plain = commandName({});
  expect(withoutValues(commandName(flags))).toBe(`${plain}${told}`);
});

import type { OutcomeView } from "@postern/core/contract";
import { expect, it } from "vitest";
import { commandName, outcomeText, withoutValues } from "./command-name.ts";
import { explanationText } from "./commands/policy-text.ts";
import { paintFor } from "./output/terminal.ts";

const command = "npx postern --data /srv";
const says = "see `postern tools diff x`";

it.each([
  ["none", {}, ""],
  ["a folder", { data: "/srv/postern" }, " --data …"],
  ["one with a blank and a quote", { data: "/srv/ann's books/a" }, " --data …"],
  ["more of them", { config: "a b.yaml", data: "x'y", port: "7421" }, " --config … --data … --port …"],
  ["what looks like another flag", { data: "' --port 1" }, " --data …"],
])("tells strangers which flags belong to a command and not what they say (%s)", (_, flags, printed) => {
  const plain = commandName({});
  expect(withoutValues(commandName(flags))).toBe(`${plain}${printed}`);
});

it.each([
  ["ok", undefined, says],
  ["preview", undefined, says],
  ["error", "tool_failed", says],
  ["error", "tool_unavailable", "see `npx postern --data /srv tools diff x`"],
  ["pending", undefined, "see `npx postern --data /srv tools diff x`"],
] as const)(
  "prints an outcome %s (%s): a tool's text unchanged, Postern's own text with the typed command",
  (status, code, printed) => {
    const refusal = code === undefined ? {} : { refusal: { status, code, message: says, retry: "never" } };
    const outcome = { status, text: says, call_id: "call_1", content: [], ...refusal } as unknown as OutcomeView; // as much as is looked at
    expect(outcomeText(outcome, command)).toBe(printed);
  },
);

it("an explanation that ends in a refusal names commands as they are typed here", () => {
  const terminal = {
    out() {},
    aside() {},
    ...{ colour: false, columns: 120, interactive: false, screen: false },
  };
  const refused = {
    reached: "refused",
    refusal: { status: "error", code: "tool_unavailable", message: says, retry: "later" },
  } as never; // as much as is looked at
  expect(explanationText({ command, terminal, paint: paintFor(terminal) }, "x", refused)).toContain(
    "see `npx postern --data /srv tools diff x`",
  );
});

import { describe, expect, it } from "vitest";
import { asInFile, mistakeOf } from "../../console/src/screens/policy/mistakes.ts";

const line = (sentence: string) => mistakeOf(sentence, "postern.yaml", "error");

describe("a mistake in a policy", () => {
  it("has the line of its file, with or without a column", () => {
    expect(line("postern.yaml:12:3 policy.ruls: not known")).toMatchObject({
      line: 12,
      message: "policy.ruls: not known",
    });
    expect(line("postern.yaml:7 The rule deny #1 matches no tool.")).toMatchObject({
      line: 7,
      message: "The rule deny #1 matches no tool.",
    });
  });

  it("has no line if it names none, or one of another file", () => {
    for (const sentence of ["The policy has nothing.", "rules.cedar:4:1 unexpected token", "postern.yaml: not read"])
      expect(line(sentence)).toEqual({ line: undefined, message: sentence, severity: "error" });
  });

  it("is on the line that the editor shows: the text is sent with as many lines before it", () => {
    const document = { name: "p.yaml", text: "", line: 3, digest: "", editable: true, differs: [] };
    expect(asInFile(document, "policy: {}")).toEqual({ name: "p.yaml", text: "\n\npolicy: {}" });
  });
});

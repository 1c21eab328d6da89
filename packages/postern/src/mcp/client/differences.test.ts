import type { JsonObject } from "@postern/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { definitionOf } from "./definition.ts";
import { changedFields, differences } from "./differences.ts";
import { textDiff } from "./text-diff.ts";

const before: JsonObject = {
  name: "read",
  description: "Reads a file. Needs a path.\nFails when there is none.",
  inputSchema: { type: "object", properties: { path: { type: "string", description: "Where." } }, required: ["path"] },
};
const rows = (after: JsonObject) =>
  differences(before, after).map(({ field, path, rows: shown }) => [field, path, ...shown]);

describe("what changed of a definition", () => {
  it("is nothing when nothing did, in whatever order its names come", () => {
    const { inputSchema, ...rest } = before;
    expect(differences(before, { inputSchema: inputSchema ?? null, ...rest })).toEqual([]);
  });

  it("is a text sentence by sentence, with what stands beside it", () => {
    expect(
      rows({ ...before, description: "Reads a file. Mails it too. Needs a path.\nFails when there is none." }),
    ).toEqual([
      [
        "description",
        undefined,
        "  Reads a file.",
        "+ Mails it too.",
        "  Needs a path.",
        "  Fails when there is none.",
      ],
    ]);
  });

  it("is a schema leaf by leaf, with the place of each", () => {
    const properties = { path: { type: "number", description: "Where. Or who." }, "a/b~c": { const: null } };
    expect(rows({ ...before, inputSchema: { type: "object", properties, required: [] } })).toEqual([
      ["inputSchema", "/properties/a~1b~0c/const", "+ null"],
      ["inputSchema", "/properties/path/description", "  Where.", "+ Or who."],
      ["inputSchema", "/properties/path/type", "- string", "+ number"],
      ["inputSchema", "/required", "+ []"],
      ["inputSchema", "/required/0", "- path"],
    ]);
  });

  it("tells what came and what went", () => {
    expect(rows({ ...before, title: "Reader", annotations: { readOnlyHint: false } })).toEqual([
      ["title", undefined, "+ Reader"],
      ["annotations", "/readOnlyHint", "+ false"],
    ]);
    expect(differences({ ...before, title: "T" }, before)).toEqual([{ field: "title", before: "T", rows: ["- T"] }]);
  });

  it("shows hidden and look-alike letters as what they are, in texts and in schemas", () => {
    const inputSchema = { type: "object", properties: { path: { type: "string", enum: ["\u200bx"] } } };
    const shown = JSON.stringify(rows({ ...before, description: "Reads \u0430 file.", inputSchema }));
    expect(shown).toContain(String.raw`\\u{430}`);
    expect(shown).toContain(String.raw`\\u{200b}x`);
    expect(shown).not.toMatch(/[\u0430\u200b]/);
  });

  it("is all of it for a tool that is new", () => {
    expect(differences(undefined, before).map(({ field }) => field)).toEqual(
      expect.arrayContaining(["name", "description", "inputSchema"]),
    );
  });

  it("is never empty when the digest differs", async () => {
    const text = fc.string({ unit: "grapheme" });
    const body = fc.record(
      { title: text, description: text, inputSchema: fc.constantFrom({ type: "object" }, { type: "object", a: [1] }) },
      { requiredKeys: ["inputSchema"] },
    );
    await fc.assert(
      fc.property(body, body, (one, other) => {
        const [old, fresh] = [one, other].map((given) => definitionOf({ name: "t", ...given }));
        const found = differences(old?.body, fresh?.body ?? {});
        expect(found.length > 0).toBe(old?.digest !== fresh?.digest);
        expect(changedFields(old?.body ?? {}, fresh?.body ?? {})).toEqual([
          ...new Set(found.map(({ field }) => field)),
        ]);
      }),
    );
  });

  it("stays short for a text of a hundred thousand lines, and for thousands of leaves", () => {
    const long = Array.from({ length: 100_000 }, (_, i) => `line ${i}`).join("\n");
    expect(textDiff(long, `${long}!`).length).toBeLessThan(500);
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`p${i}`, i]));
    expect(differences(before, { ...before, inputSchema: many }).length).toBe(200);
  });
});

describe("a definition", () => {
  const tool = { name: "t", description: "d", inputSchema: { type: "object" } } as const;

  it("is what a model reads and what terms are made of: nothing else a server says changes it", () => {
    const noise = { ...tool, _meta: { at: 1 }, icons: [{ src: "x" }], execution: { taskSupport: "optional" } };
    expect(definitionOf(noise)).toEqual(definitionOf(tool));
  });

  it("that is too large, too deep or no proper text is refused", () => {
    let deep: JsonObject = { type: "object" };
    for (let i = 0; i < 200; i += 1) deep = { properties: deep };
    expect(() => definitionOf({ ...tool, description: "x".repeat(300_000) })).toThrow("at most 262144 are taken");
    expect(() => definitionOf({ ...tool, inputSchema: deep })).toThrow("Nested deeper");
    expect(() => definitionOf({ ...tool, description: "\ud800" })).toThrow("surrogate");
  });
});

import type { JsonObject } from "@postern/core";
import { describe, expect, it } from "vitest";
import { expectWork } from "../../../../test/fakes/in-time.ts";
import { guessLanguage } from "./chain-tool.ts";
import { pythonSignature, typescriptSignature } from "./signatures.ts";

const sketch = (inputSchema: JsonObject, server?: string) => ({
  name: "github__create_issue",
  server,
  short: "create_issue",
  description: "",
  inputSchema,
});

describe("signatures", () => {
  it("show names, types and optional members in both languages", () => {
    const one = sketch(
      {
        type: "object",
        properties: {
          labels: { type: "array", items: { type: "string" } },
          title: { type: "string" },
          state: { enum: ["open", "closed"] },
          count: { type: ["integer", "null"] },
          "odd-name": { type: "object", properties: { a: { type: "boolean" } }, required: ["a"] },
        },
        required: ["title"],
      },
      "github",
    );
    expect(typescriptSignature(one)).toBe(
      'tools.github.create_issue(args: { labels?: string[]; title: string; state?: "open" | "closed"; count?: number | null; "odd-name"?: { a: boolean } })',
    );
    expect(pythonSignature(one)).toBe(
      'tools.github.create_issue(title: str, labels: list[str] = …, state: Literal["open", "closed"] = …, count: int | None = …, odd_name: dict = …)',
    );
  });

  it("write keywords, leading digits and other signs for Python", () => {
    const names = ["class", "from", "None", "True", "match", "type", "a.b", "1st", "naïve", "x-y", "x_y", "from_"];
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const one = { ...sketch({ type: "object", properties, required: names }, "import"), short: "del" };
    expect(pythonSignature(one)).toBe(
      'tools.import_.del_(class_: str, "from": str, None_: str, True_: str, match: str, type: str, a_b: str, _1st: str, naïve: str, "x-y": str, x_y: str, from_: str)',
    );
    expect(typescriptSignature(one)).toContain("tools.import.del(args: { class: string; from: string;");
  });

  it.each([
    [{}, "tools.create_issue()"],
    [{ type: "object", properties: {} }, "tools.create_issue(args: Record<string, unknown>)"],
    [
      { type: "object", properties: { a: true, b: { anyOf: [{ type: "string" }, { type: "number" }] } } },
      "tools.create_issue(args: { a?: unknown; b?: string | number })",
    ],
    [
      { type: "object", properties: { a: { type: "array", items: { type: ["string", "number"] } } } },
      "tools.create_issue(args: { a?: (string | number)[] })",
    ],
  ])("take whatever schema there is: %j", (schema, shown) => {
    expect(typescriptSignature(sketch(schema as JsonObject))).toBe(shown);
    expect(pythonSignature(sketch(schema as JsonObject))).toMatch(/^tools\.create_issue\(/);
  });

  it("end for endless schemas", () => {
    const deep = Array.from({ length: 40 }).reduce<JsonObject>(
      (inner) => ({ type: "object", properties: { a: inner } }),
      { type: "string" },
    );
    expect(typescriptSignature(sketch(deep)).length).toBeLessThan(100);
  });
});

describe("a script's language", () => {
  it.each([
    ["python", 'r = tools.add(a=1, b=2)\nprint(f"{r.text}")'],
    ["python", "import json\nfor x in range(3):\n    tools.echo(to=str(x))"],
    ["python", "def f(x):\n    return None"],
    ["python", 'r = tools.echo(text="a")'],
    ["python", 'tools.echo(text="a").text'],
    ["python", 'r = tools.send(\n    "boss", subject = "a",\n)'],
    ["javascript", "if (a = next(1)) a"],
    ["javascript", "const add = (a = 1) => a"],
    ["javascript", "x = f(a == 1)"],
    ["javascript", "const r = await tools.add({ a: 1 });\nreturn r.text;"],
    ["javascript", "return [1, 2].map((n) => n + 1)"],
    ["typescript", "interface A { b: string }\nconst a: A = { b: 'x' };\nreturn a.b;"],
    ["typescript", "const rows: string[] = [];\nreturn rows as unknown;"],
  ] as const)("%s is seen: %s", (language, source) => {
    expect(guessLanguage(source)).toBe(language);
  });

  it("is guessed in linear time", async () => {
    await expectWork(5_000, () => {
      for (const part of ["\n", "if \n", "; ", "(", "f(a,", "f( ", "def f(", ")", "import a", 'f"'])
        guessLanguage(part.repeat(200_000 / part.length));
    });
  });
});

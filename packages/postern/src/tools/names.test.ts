import { visible } from "@postern/core";
import { expect, it } from "vitest";
import { corpus } from "../../../../test/fakes/corpus.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { defineTool } from "./define.ts";
import type { LocalTool } from "./kinds.ts";
import { internalsOf, Registry } from "./registry.ts";

const tool = (name: string): LocalTool =>
  defineTool({ name, description: "d", risk: "safe", idempotent: true, execute: () => "x" });
const register = (...names: readonly string[]): void => {
  const registry = new Registry({ clock: new FakeClock() });
  for (const name of names) registry.register(tool(name));
};
const refusedAs = (why: string): unknown =>
  expect.objectContaining({ code: "tool_name_invalid", message: expect.stringContaining(why) });

it("takes the names that providers take", () => {
  register("a", "send_email", "Get.Weather-2", "x".repeat(64), "_private", "constructor", "toString");
});

it("refuses names with control, bidirectional or non-ASCII characters, spaces, and the wrong length", () => {
  const hostile = [
    "a\0b",
    "a\nb",
    "a\u202eb",
    "a\u200bb",
    "sеnd",
    "naïve",
    "a b",
    "a/b",
    "..",
    "-a",
    "x".repeat(65),
    "a`b",
    "__proto__\u0000",
  ];
  for (const name of hostile)
    expect(() => register(name), JSON.stringify(name)).toThrow(refusedAs("cannot be the name of a tool"));
  expect(() => register("a\u202eb")).toThrow(/`a\\u\{202e\}b` cannot be the name of a tool/);
});

it("refuses a name that looks like a registered one", () => {
  for (const [one, other] of [
    ["send_mail", "send-mail"],
    ["send_mail", "Send_mail"],
    ["mail", "mai1"],
    ["mail", "maiI"],
    ["go_on", "g0_on"],
    ["modern", "modem"],
  ] as const) {
    expect(() => register(one, other), other).toThrow(refusedAs("is registered already"));
  }
  register("read_file", "read_files", "write_file");
});

it("refuses a tool and another one's action that are called alike: a call would lead to the wrong one", () => {
  const notes = defineTool({ ...tool("notes"), actions: { list: { risk: "safe" }, delete: { risk: "critical" } } });
  const registry = (): Registry => new Registry({ clock: new FakeClock() });
  for (const name of ["notes__delete", "notes__De1ete"]) {
    const first = registry();
    first.register(notes);
    expect(() => first.register(tool(name), { server: "notes" }), name).toThrow(/of `notes`, which is registered/);
    const other = registry();
    other.register(tool(name));
    expect(() => other.register(notes), name).toThrow(refusedAs("is registered already"));
    other.unregister(name);
    other.register(notes);
    other.unregister("notes");
    other.register(tool(name)); // with a tool its names are free again
  }
});

it("refuses two actions of one tool that look alike", () => {
  const twins = defineTool({
    ...tool("mail"),
    actions: { list: { risk: "safe" }, "1ist": { risk: "critical" } },
  });
  expect(() => new Registry({ clock: new FakeClock() }).register(twins)).toThrow(
    expect.objectContaining({ code: "options_invalid", message: expect.stringContaining("look alike") }),
  );
});

const alike = corpus<{ readonly ascii: string; readonly c: string }>("confusables/to_ascii.dev.json");

it.skipIf(alike.length === 0)(
  "a letter of a registered name that is replaced by a look-alike of any script is refused, and never found",
  () => {
    let tried = 0;
    for (const { ascii, c } of alike.filter((row) => /^[A-Za-z0-9_.-]+$/.test(row.ascii))) {
      const registry = new Registry({ clock: new FakeClock() });
      const name = `tool_${ascii}_name`;
      registry.register(tool(name));
      const fake = `tool_${c}_name`;
      expect(internalsOf(registry).find(fake, "default"), c).toBeUndefined();
      expect(() => registry.register(tool(fake)), c).toThrow();
      tried += 1;
    }
    expect(tried).toBeGreaterThan(100);
  },
);

it("shows a hostile name with every unprintable character escaped", () => {
  expect([visible("a\u202e"), visible(7), visible(null), visible("`x`")]).toEqual([
    "`a\\u{202e}`",
    "A number",
    "A null",
    "`\\u{60}x\\u{60}`",
  ]);
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { configurationText, readPolicyText, readTestsText } from "./policy-text.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-policy-text-"));
afterAll(() => rmSync(folder, { recursive: true }));
const read = (text: string) => readPolicyText({ name: "edited.yaml", text }, folder);

describe("a policy that is not in force", () => {
  it("is read from a configuration with the line of every rule and test; nothing else in it is looked at", async () => {
    const { policy, tests, autonomy } = await read(
      [
        "servers: whatever",
        "autonomy: A1",
        "policy:",
        "  rules:",
        "    - { effect: deny, tool: mail }",
        "  tests:",
        "    - name: no mail",
        "      call: { tool: mail, arguments: { to: [a] } }",
        "      at: 2026-11-20T23:00:00+01:00",
        "      history: [{ tool: read, seconds_ago: 5 }]",
        "      expect: DENY",
      ].join("\n"),
    );
    expect(policy.rules).toEqual([{ effect: "deny", tool: "mail", where: "edited.yaml:5" }]);
    expect(autonomy).toBe("A1");
    expect(tests).toEqual([
      {
        name: "no mail",
        call: { tool: "mail", arguments: { to: ["a"] } },
        now: Date.UTC(2026, 10, 20, 22),
        history: [{ tool: "read", secondsAgo: 5 }],
        expect: "DENY",
        where: "edited.yaml:7",
      },
    ]);
  });

  it("may be JSON, and may be empty", async () => {
    expect((await read('{"policy": {"default": "deny"}}')).policy).toEqual({ default: "deny" });
    expect(await read("")).toEqual({ policy: {}, tests: [], autonomy: "A2" });
  });

  it.each([
    ["policy:\n  ruls: []", "edited.yaml:2:3 policy.ruls:"],
    ["policy:\n  rules:\n    - { effect: dney }", "edited.yaml:3:"],
    ["policy:\n  tests:\n    - { name: x, call: { tool: a }, expect: deny }", "edited.yaml:3:"],
    ["policy:\n  max_risk_unapproved: critical", "edited.yaml:1:1 policy:"],
    ["policy: [", "edited.yaml:1:"],
    ["policy: &a [*a]", "edited.yaml:1:"],
    ["policy:\n  __proto__: {}", "`__proto__` cannot be a key"],
    ["policy:\n  cedar: { policies: /etc/passwd }", "lies outside"],
    ["policy:\n  cedar: { policies: ../../etc/passwd }", "lies outside"],
    ["policy:\n  cedar: { policies: none.cedar }", "cannot be read"],
  ])("with a mistake is refused with its place: %j", async (text, told) => {
    await expect(read(text)).rejects.toMatchObject({ code: "policy_invalid", message: expect.stringContaining(told) });
  });
});

describe("a table of expectations in a file of its own", () => {
  it("has lines; an invalid one is refused with its place", () => {
    const good =
      "tests:\n  - { name: one, call: { tool: a }, expect: ALLOW }\n  - { name: two, call: { tool: a }, expect: DENY }";
    expect(readTestsText({ name: "a.policy-tests.yaml", text: good }).map(({ where }) => where)).toEqual([
      "a.policy-tests.yaml:2",
      "a.policy-tests.yaml:3",
    ]);
    for (const text of ["", "- x", "tests: x", "tests: [{}]", `${good}\nmore: 1`])
      expect(() => readTestsText({ name: "b.yaml", text }), text).toThrow(/^b\.yaml:\d/);
  });
});

describe("the configuration as a text", () => {
  it("is the file, or what code makes of itself", async () => {
    writeFileSync(join(folder, "postern.yaml"), "policy: {} # as it is");
    expect(await configurationText(join(folder, "postern.yaml"), folder)).toEqual({
      name: "postern.yaml",
      text: "policy: {} # as it is",
    });
    writeFileSync(join(folder, "c.ts"), "export default { policy: { maxRiskUnapproved: 'high' } };");
    const { text } = await configurationText(join(folder, "c.ts"), folder);
    expect(JSON.parse(text)).toEqual({ policy: { max_risk_unapproved: "high" } });
  });

  it("that is no text is refused", async () => {
    writeFileSync(join(folder, "bytes.yaml"), Buffer.from([0xff, 0xfe, 0x00]));
    await expect(configurationText(join(folder, "bytes.yaml"), folder)).rejects.toThrow(
      "`bytes.yaml` is not UTF-8 text.",
    );
  });
});

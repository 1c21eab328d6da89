import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { corpus } from "../../../../../test/fakes/corpus.ts";
import { expectWork } from "../../../../../test/fakes/in-time.ts";
import type { RiskGuess } from "../policy.ts";
import { type GuessedTool, guessRisk } from "./guess.ts";

const schema = (...names: readonly string[]): GuessedTool["inputSchema"] => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});

describe("a guess", () => {
  it.each<[GuessedTool, RiskGuess["risk"], RiskGuess["effects"]]>([
    [{ name: "read_file" }, "safe", "read"],
    [{ name: "get_deleted_items" }, "safe", "read"],
    [{ name: "listAllOrders" }, "safe", "read"],
    [{ name: "read_and_delete" }, "critical", "destructive"],
    [{ name: "branch-delete" }, "critical", "destructive"],
    [{ name: "create_note" }, "medium", "write"],
    [{ name: "send_email" }, "high", "write"],
    [{ name: "message" }, "high", "write"],
    [{ name: "PostReview" }, "high", "write"],
    [{ name: "run_shell" }, "critical", "destructive"],
    [{ name: "query", inputSchema: schema("sql") }, "critical", "destructive"],
    [{ name: "transfer", inputSchema: schema("amount", "iban") }, "critical", "write"],
    [{ name: "update_bill", inputSchema: schema("amount", "recipient") }, "critical", "write"],
    [{ name: "get_password" }, "high", "read"],
    [{ name: "update_password" }, "critical", "write"],
    [{ name: "fetch", inputSchema: schema("url") }, "medium", "read"],
    [{ name: "frobnicate" }, "high", "write"],
    [{ name: "frobnicate", description: "Deletes every row." }, "critical", "destructive"],
    [{ name: "frobnicate", description: "This tool will list rows." }, "safe", "read"],
    [{ name: "records", description: "List, create, update, and delete records." }, "critical", "destructive"],
    [{ name: "get_event", description: "Gets it. It will also notify the participants." }, "high", "write"],
    [{ name: "set_value", description: "Permanently overwrites the value." }, "critical", "destructive"],
    [{ name: "frobnicate", annotations: { readOnlyHint: true } }, "safe", "read"],
    [{ name: "delete_all", annotations: { readOnlyHint: true } }, "critical", "destructive"],
    [{ name: "get_all", annotations: { readOnlyHint: false } }, "medium", "write"],
    [{ name: "get_all", annotations: { destructiveHint: true } }, "critical", "destructive"],
    [{ name: "constructor" }, "high", "write"],
    [{ name: "" }, "high", "write"],
  ])("%j", (tool, risk, effects) => expect(guessRisk(tool)).toMatchObject({ risk, effects }));

  it("says why, and what may come back from outside", () => {
    expect(guessRisk({ name: "delete_branch" })).toEqual({
      risk: "critical",
      effects: "destructive",
      openWorld: false,
      why: ["`delete` destroys"],
    });
    expect(guessRisk({ name: "web_search" }).openWorld).toBe(true);
    expect(guessRisk({ name: "load", inputSchema: schema("url") }).openWorld).toBe(true);
    expect(guessRisk({ name: "load", annotations: { openWorldHint: true } }).openWorld).toBe(true);
  });

  it("never throws, always has a reason, and is fast on anything", async () => {
    await fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.string({ unit: "binary", maxLength: 3_000 }),
        fc.jsonValue(),
        (name, description, json) => {
          const guess = guessRisk({
            name,
            description,
            inputSchema: { properties: json } as GuessedTool["inputSchema"] & object,
          });
          expect(guess.why.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 500 },
    );
    await expectWork(200, () => guessRisk({ name: "aA".repeat(1e6), description: "will also ".repeat(1e6) }));
  });
});

describe("published tools", () => {
  const tools = [
    ...corpus<{ name: string; summary: string; params: readonly string[] }>("tool-risk/toolemu_tools.dev.json").map(
      ({ name, summary, params }) => ({ name, description: summary, inputSchema: schema(...params) }),
    ),
    ...corpus<{ name: string; doc: string; args: readonly string[] }>("tool-risk/agentdojo_tools.dev.json").map(
      ({ name, doc, args }) => ({ name, description: doc, inputSchema: schema(...args) }),
    ),
  ];

  it.skipIf(tools.length === 0)(
    "whose names say that they send, pay, delete, run or change rights are never taken for harmless",
    () => {
      const loud =
        /^(send|delete|remove|withdraw|trade|execute|revoke|unblock|share|reply|deploy|post|reserve|cancel|place|make)/i;
      const missed = tools
        .filter(({ name }) => loud.test(name))
        .filter((tool) => ["safe", "medium"].includes(guessRisk(tool).risk));
      expect(missed.map(({ name }) => name)).toEqual([]);
      expect(tools.length).toBeGreaterThan(150);
    },
  );
});

import type { ToolView } from "@postern/core/contract";
import { expect, it } from "vitest";
import type { ToolNow } from "../output/tool-verdicts.ts";
import { nextCommands } from "./banner.ts";

function printed(tool: string, word: string, more: Partial<ToolView> = {}): ToolNow {
  const input_schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  const plain = { tool, action: "default", kind: "local", risk: "safe", effects: "read", scopes: [] } as const;
  const described = { description: tool, input_schema, risk_source: "stated", idempotent: true } as const;
  return { action: { ...plain, ...described, ...more } as ToolView, now: { word } }; // the few fields that are looked at
}

const typed = (tools: readonly ToolNow[]) => nextCommands(tools, "postern").map((next) => next.typed);

it("offers a call that runs, one that is asked about, and where it is decided", () => {
  const tools = [
    printed("read", "runs"),
    printed("far", "runs", { server: "x" }),
    printed("send mail", "asks", { risk: "high", effects: "write" }),
  ];
  expect(typed(tools)).toEqual([
    "postern call read text=VALUE",
    "postern call 'send mail' text=VALUE",
    "postern approvals",
  ]);
});

it("offers nothing that the policy denies, nor what destroys or is critical", () => {
  const tools = [
    printed("secret", "denied"),
    printed("stopped", "blocked"),
    printed("gone", "off"),
    printed("wipe", "asks", { risk: "high", effects: "destructive" }),
    printed("launch", "asks", { risk: "critical" }),
    printed("overwrite", "runs", { risk: "medium", effects: "write" }),
  ];
  expect(typed(tools)).toEqual(["postern approvals", "postern policy show", "postern audit verify"]);
});

it("where everything is only previewed it offers a preview", () => {
  expect(typed([printed("read", "previews")])).toEqual([
    "postern call read text=VALUE",
    "postern approvals",
    "postern policy show",
  ]);
});

import { expect, it } from "vitest";
import type { ServerConfig } from "./server-config.ts";
import { termsOf } from "./terms.ts";
import type { UpstreamTool } from "./upstream.ts";

const termsFor = (annotations: UpstreamTool["annotations"], config: ServerConfig = {}, name = "read") =>
  termsOf({ name, inputSchema: { type: "object" }, ...(annotations !== undefined && { annotations }) }, config);
const harmless = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };

it("a stranger's tool is high and not idempotent, whatever it says of itself (D22)", () => {
  expect(termsFor(harmless)).toMatchObject({
    risk: "high",
    riskSource: "default",
    effects: "write",
    idempotent: false,
  });
});

it("the hints of a trusted server count, the missing ones at their worst", () => {
  const trusted: ServerConfig = { trust: "annotations" };
  expect(termsFor({ readOnlyHint: true }, trusted)).toMatchObject({
    risk: "safe",
    riskSource: "declared",
    effects: "read",
    idempotent: true,
  });
  expect(termsFor({ readOnlyHint: false, destructiveHint: false }, trusted)).toMatchObject({
    risk: "high",
    effects: "write",
    idempotent: false,
  });
  expect(termsFor({ destructiveHint: false, idempotentHint: true }, trusted)).toMatchObject({
    idempotent: true,
  });
  expect(termsFor(undefined, trusted)).toMatchObject({
    risk: "critical",
    effects: "destructive",
    idempotent: false,
  });
});

it("a hint that contradicts itself is believed where it is worse", () => {
  expect(termsFor({ readOnlyHint: true, destructiveHint: true }, { trust: "annotations" })).toMatchObject({
    risk: "critical",
    effects: "destructive",
  });
});

it("the operator's word stands over the server's, the tool's over the whole server's", () => {
  const config: ServerConfig = {
    trust: "annotations",
    risk: "critical",
    callTimeoutMs: 9,
    tools: { read: { risk: "medium", scopes: ["r"], effects: "read", timeoutMs: 5 } },
  };
  expect(termsFor(harmless, config)).toEqual({
    risk: "medium",
    riskSource: "operator",
    effects: "read",
    idempotent: true,
    scopes: ["r"],
    timeoutMs: 5,
  });
  expect(termsFor(harmless, config, "other")).toMatchObject({
    risk: "critical",
    riskSource: "operator",
    scopes: [],
    timeoutMs: 9,
  });
});

it("a tool called `constructor` has no settings that nobody wrote", () => {
  expect(termsFor(harmless, { tools: {} }, "constructor")).toMatchObject({
    risk: "high",
    riskSource: "default",
  });
});

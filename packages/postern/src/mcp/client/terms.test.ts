import { expect, it } from "vitest";
import type { ServerConfig } from "./server-config.ts";
import { termsOf } from "./terms.ts";
import type { UpstreamTool } from "./upstream.ts";

const termsFor = (annotations: UpstreamTool["annotations"], config: ServerConfig = {}, name = "read") =>
  termsOf({ name, inputSchema: { type: "object" }, ...(annotations !== undefined && { annotations }) }, config);
const harmless = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };

it("a stranger's tool is high, open world and not idempotent, whatever it says of itself (D22)", () => {
  expect(termsFor(harmless)).toMatchObject({
    risk: "high",
    riskSource: "guess",
    guess: { risk: "safe", effects: "read" },
    effects: "write",
    openWorld: true,
    idempotent: false,
  });
});

it("a guess enforces nothing, and ends when an operator decides", () => {
  const guessed = termsFor(undefined, {}, "delete_repository");
  expect(guessed).toMatchObject({
    risk: "high",
    effects: "write",
    guess: { risk: "critical", effects: "destructive" },
  });
  expect(termsFor(undefined, { risk: "medium" }, "delete_repository")).not.toHaveProperty("guess");
  expect(termsFor(harmless, { trust: "annotations" })).not.toHaveProperty("guess");
});

it("results come from the open world until the operator, or a trusted server, says otherwise", () => {
  const closed = { ...harmless, openWorldHint: false };
  expect(termsFor(closed).openWorld).toBe(true);
  expect(termsFor(closed, { trust: "annotations" }).openWorld).toBe(false);
  expect(termsFor(harmless, { trust: "annotations" }).openWorld).toBe(true);
  expect(termsFor(undefined, { openWorld: false }).openWorld).toBe(false);
  expect(termsFor(closed, { trust: "annotations", tools: { read: { openWorld: true } } }).openWorld).toBe(true);
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
    ...{ callTimeoutMs: 9, defer: true },
    tools: {
      read: { defer: false, risk: "medium", scopes: ["r"], effects: "read", description: "Mine.", timeoutMs: 5 },
    },
  };
  expect(termsFor(harmless, config)).toEqual({
    risk: "medium",
    riskSource: "operator",
    effects: "read",
    openWorld: true,
    idempotent: true,
    description: "Mine.",
    scopes: ["r"],
    timeoutMs: 5,
    deferLoading: false,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  });
  expect(termsFor(harmless, config, "other")).toMatchObject({
    risk: "critical",
    riskSource: "operator",
    scopes: [],
    timeoutMs: 9,
    deferLoading: true,
  });
});

it("a tool called `constructor` has no settings of its own", () => {
  expect(termsFor(harmless, { tools: {} }, "constructor")).toMatchObject({
    risk: "high",
    riskSource: "guess",
  });
});

import { isRunOfTheDay } from "@postern/core";
import { describe, expect, it } from "vitest";
import { authorityOf, type CallClaims, isFromOperator, isRunOfTheDayOf, withinSession } from "./authority.ts";
import { directLimits } from "./session.ts";

const ann = { tenant: "default", agent: "bot", user: "ann" };
const session = authorityOf({ principal: ann, scopes: ["mail:read", "mail:send"] }, "A2", directLimits, 0);

describe("a call's own claims within its session", () => {
  it("are the session's, the same object, when the call claims nothing", () => {
    expect(withinSession(session, {})).toBe(session);
  });

  it("narrow its scopes and its level, and never widen them", () => {
    const asked = withinSession(session, { scopes: ["mail:read", "secrets:all"], autonomy: "A4" });
    expect(asked).toMatchObject({ scopes: ["mail:read"], autonomy: "A2" });
    expect(withinSession(session, { scopes: [], autonomy: "A1" })).toMatchObject({ scopes: [], autonomy: "A1" });
    expect(session).toMatchObject({ scopes: ["mail:read", "mail:send"], autonomy: "A2" });
  });

  it("may be any scope where the session was granted all", () => {
    const all = authorityOf({ principal: ann, scopes: ["*"] }, undefined, directLimits, 0);
    expect(withinSession(all, { scopes: ["mail:send"] })).toMatchObject({ scopes: ["mail:send"] });
  });

  it("name its own run, trace, task and step, and nothing of whose call it is", () => {
    const own = { runId: "other", traceId: "a".repeat(32), taskId: "t", stepId: "s" };
    const { principal } = session;
    const claims = { ...own, principal: { ...ann, agent: "boss" } }; // what JavaScript may send
    expect(withinSession(session, claims)).toMatchObject({ ...own, principal });
  });

  it.each<[string, object]>([
    ["traceId", { traceId: "no" }],
    ["taskId", { taskId: "" }],
    ["stepId", { stepId: "a\0b" }],
    ["scopes", { scopes: "mail:read" }],
    ["scopes", { scopes: [1] }],
  ])("that are malformed are refused by their name: %s", (member, claims) => {
    const refused = expect.objectContaining({ code: "context_invalid", message: expect.stringContaining(member) });
    expect(() => withinSession(session, claims as CallClaims)).toThrow(refused);
  });
});

it("the run of the day is named after its principal, whose it stays", () => {
  expect(isRunOfTheDay(session.runId)).toBe(true);
  expect(isRunOfTheDayOf(session.runId, ann)).toBe(true);
  expect(isRunOfTheDayOf(session.runId, { ...ann, user: "bob" })).toBe(false);
  expect(isRunOfTheDay("run_nightly")).toBe(false);
});

it.each([
  ["token:operator", true],
  [undefined, true],
  ["token:tok_1", false],
  ["session:ada", false],
  ["oauth:editor", false],
  ["stdio", false],
] as const)("says whether a call that came by %s is the operator's", (via, isOperators) => {
  expect(isFromOperator({ tenant: "default", agent: "a", ...(via !== undefined && { via }) })).toBe(isOperators);
});

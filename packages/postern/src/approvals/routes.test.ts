import { noOpaqueFields, type Risk, toCamelCase } from "@postern/core";
import { describe, expect, it } from "vitest";
import { approvalSettingsFrom, approvalsSchema, routesProblem } from "./approvals-config.ts";
import { type ApprovalRoute, Routing, routedBy } from "./routes.ts";

const call = (tool: string, risk: Risk = "high", more: { server?: string; tenant?: string; user?: string } = {}) => ({
  tool,
  risk,
  ...(more.server !== undefined && { server: more.server }),
  principal: { tenant: more.tenant ?? "default", agent: "bot", ...(more.user !== undefined && { user: more.user }) },
});

describe("the routes of approvals", () => {
  const routing = new Routing([
    {
      name: "money",
      match: { tools: ["pay_*"], risk: ["high", "critical"] },
      to: { users: ["ann", "bob"] },
      quorum: 2,
    },
    { match: { servers: ["files"] }, to: { groups: ["ops"] } },
    { name: "acme", match: { tenants: ["acme"], principals: ["user:eve"] }, separateUser: true, remember: false },
  ]);

  it("are asked in their order, and the first that matches applies", () => {
    expect(routing.requirement(call("pay_bill"))).toMatchObject({ rule: "money", quorum: 2, remembers: false });
    expect(routing.requirement(call("pay_bill", "high", { server: "files" })).rule).toBe("money");
    expect(routing.requirement(call("read", "high", { server: "files" }))).toMatchObject({
      rule: "routes[1]",
      to: { groups: ["ops"] },
    });
    expect(routing.requirement(call("pay_bill", "medium")).rule).toBe("default");
  });

  it("match only when all conditions fit", () => {
    expect(routing.requirement(call("x", "high", { tenant: "acme", user: "eve" })).rule).toBe("acme");
    expect(routing.requirement(call("x", "high", { tenant: "acme", user: "ann" })).rule).toBe("default");
    expect(routing.requirement(call("x", "high", { user: "eve" })).rule).toBe("default");
  });

  it("leave the default of the risk where they say nothing: critical is typed, signed in and not remembered", () => {
    expect(routing.requirement(call("x", "critical"))).toMatchObject({
      rule: "default",
      quorum: 1,
      typedConfirmation: true,
      signedIn: true,
      remembers: false,
    });
    expect(routing.requirement(call("x", "high"))).toMatchObject({
      typedConfirmation: false,
      signedIn: false,
      remembers: true,
    });
    const open = new Routing([
      { match: { risk: "critical" }, typedConfirmation: false, signedIn: false, remember: true },
    ]);
    expect(open.requirement(call("x", "critical"))).toMatchObject({
      typedConfirmation: false,
      signedIn: false,
      remembers: true,
    });
  });

  it("never say less of the asking user than the installation does", () => {
    const strict = new Routing([{ separateUser: false }], true);
    expect(strict.requirement(call("x")).separateUser).toBe(true);
  });

  it("keep on the record when to remind and to escalate, and no escalation after the end", () => {
    const requirement = new Routing([
      { remindBeforeMs: 10_000, escalateAfterMs: 30_000, escalateTo: { users: ["zoe"] } },
    ]).requirement(call("x"));
    expect(routedBy(requirement, 1000, 61_000)).toMatchObject({ remindAt: 51_000, escalateAt: 31_000 });
    expect(routedBy(requirement, 1000, 6000)).toMatchObject({ remindAt: 1000 });
    expect(routedBy(requirement, 1000, 6000)).not.toHaveProperty("escalateAt");
  });

  it.each<[string, unknown, RegExp]>([
    [
      "a quorum that cannot be reached",
      { to: { users: ["ann", "ann"] }, quorum: 2 },
      /routes\[0\]\.quorum.*is 2.*at most the 1 users/,
    ],
    ["a quorum of nobody", { quorum: 0 }, /quorum`: `0` is too small\. Write at least 1/],
    [
      "a field that is not known",
      { quorom: 2 },
      /`approvals\.routes\[0\]\.quorom`: `quorom` is not a known key\. Did you mean `quorum`/,
    ],
    [
      "a match that is not known",
      { match: { tool: "x" } },
      /match\.tool`: `tool` is not a known key\. Did you mean `tools`/,
    ],
    ["an empty list", { to: { users: [] } }, /to\.users`: It is empty\. Write at least 1 entry/],
    ["a risk that is none", { match: { risk: "huge" } }, /match\.risk.*"huge"/],
    ["a principal without its kind", { match: { principals: ["eve"] } }, /"eve".*agent:NAME/],
    ["an escalation to nobody", { escalateAfterMs: 5 }, /escalateTo.*given together/],
    ["the default's name", { name: "default" }, /name`: `"default"`.*not `default`/],
    ["a remembered quorum", { quorum: 2, remember: true }, /remember.*left out under a quorum/],
    ["a time without end", { ttlMs: 1e12 }, /ttlMs`: `1000000000000` is too big\. Write at most 2592000000/],
    ["no object", "all", /routes\[0\]`: `"all"` is not an object/],
  ])("refuse %s with its place and its value", (_, route, message) => {
    expect(() => new Routing([route as ApprovalRoute])).toThrow(message);
  });

  it("are written in a configuration file with seconds, and read into the same", () => {
    const file = approvalsSchema.parse({
      ttl_seconds: 60,
      routes: [
        {
          name: "money",
          match: { tools: ["pay_*"], risk: "critical" },
          to: { roles: ["approver"] },
          quorum: 2,
          typed_confirmation: true,
          ttl_seconds: 600,
          remind_before_seconds: 60,
          escalate_after_seconds: 120,
          escalate_to: { users: ["zoe"] },
        },
      ],
    });
    expect(approvalSettingsFrom(toCamelCase(file, noOpaqueFields))).toEqual({
      patience: "suspend",
      ttlMs: 60_000,
      routes: [
        {
          name: "money",
          match: { tools: ["pay_*"], risk: "critical" },
          to: { roles: ["approver"] },
          quorum: 2,
          typedConfirmation: true,
          ttlMs: 600_000,
          remindBeforeMs: 60_000,
          escalateAfterMs: 120_000,
          escalateTo: { users: ["zoe"] },
        },
      ],
    });
    expect(routesProblem(toCamelCase(file, noOpaqueFields))).toBeUndefined();
    expect(routesProblem({ routes: [{ to: { roles: ["approvr"] } }] })).toBe(
      "`approvals.routes[0].to.roles` names `approvr`, which does not exist; there are viewer, approver, operator, auditor, admin.",
    );
    expect(
      routesProblem({ routes: [{ ttlSeconds: 60, escalateAfterSeconds: 60, escalateTo: { roles: ["admin"] } }] }),
    ).toMatch(/escalateAfterMs` is 60000; it must be less than the `ttlMs` of 60000/);
    expect(routesProblem({ routes: [{ quorum: 3, to: { users: ["ann"] } }] })).toMatch(/at most the 1 users/);
  });
});

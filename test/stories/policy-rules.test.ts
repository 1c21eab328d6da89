import { describe, expect, it } from "vitest";
import { policyWarnings } from "../../packages/postern/src/policy/index.ts";
import { asker, boss, runtimeFixture } from "../fakes/runtime-fixture.ts";

describe("rules on arguments, through the runtime", () => {
  it("refuse one call and let the next pass, naming the rule and its place (case 153)", async () => {
    await using home = await runtimeFixture({
      policy: {
        rules: [
          {
            effect: "deny",
            tool: "echo",
            id: "team",
            arguments: { "$.to": { not: { like: "*@acme.com" } } },
            where: "p.yaml:4",
          },
        ],
      },
    });
    const passed = await home.runtime.invoke({ tool: "echo", arguments: { to: "ada@acme.com" } }, asker);
    expect(passed.status).toBe("ok");
    const refused = await home.runtime.invoke({ tool: "echo", arguments: { to: "eve@evil.com" } }, asker);
    expect(refused).toMatchObject({
      status: "denied",
      refusal: { code: "permission_denied", details: { rules: ["rule deny #1 (team)"] } },
    });
    expect(refused.refusal?.message).toContain("`echo`: rule deny #1 (team) (p.yaml:4)");
    expect(home.ran).toEqual([{ to: "ada@acme.com" }]);
  });

  it("ask a person for some calls only, and an edit does not avoid them", async () => {
    await using home = await runtimeFixture({
      policy: {
        rules: [
          { effect: "confirm", tool: "echo", arguments: { "$.to": { like: "*@else.com" } } },
          { effect: "deny", tool: "echo", arguments: { "$.to": { like: "*@evil.com" } } },
        ],
      },
    });
    const { runtime } = home;
    expect((await runtime.invoke({ tool: "echo", arguments: { to: "ada@acme.com" } }, asker)).status).toBe("ok");
    const pending = await runtime.invoke({ tool: "echo", arguments: { to: "bob@else.com" } }, asker);
    expect(pending.status).toBe("pending");
    const edited = await runtime.approvals.decide(pending.approvalId ?? "", {
      decision: "modified",
      arguments: { to: "eve@evil.com" },
      by: boss,
    });
    expect(edited).toMatchObject({ decided: false });
    expect(home.ran).toEqual([{ to: "ada@acme.com" }]);
  });

  it("apply again when the approved call runs: a person cannot lift a sandbox", async () => {
    await using home = await runtimeFixture({ policy: { sandbox: [{ argument: "$.to", within: ["/work/**"] }] } });
    const inside = await home.runtime.invoke({ tool: "mail", arguments: { to: "/work/a" } }, asker);
    expect(inside.status).toBe("pending");
    const outside = await home.runtime.invoke({ tool: "mail", arguments: { to: "/work/../etc/a" } }, asker);
    expect(outside.refusal).toMatchObject({
      code: "permission_denied",
      details: { rules: [expect.stringMatching(/^sandbox deny #1/)] },
    });
  });
});

describe("a policy that observes", () => {
  it("lets calls pass, and logs what it would have done", async () => {
    await using home = await runtimeFixture({
      policy: { mode: "observe", rules: [{ effect: "deny", tool: "mail", id: "no-mail" }] },
    });
    const { runtime } = home;
    expect((await runtime.invoke({ tool: "mail", arguments: { to: "ada" } }, asker)).status).toBe("ok");
    const [attempted] = await runtime.audit.query({ type: "tool_call.attempted" });
    expect(attempted?.reasons?.map(({ rule }) => rule)).toEqual(
      expect.arrayContaining(["rule deny #1 (no-mail)", "mode observe: enforce would give DENY"]),
    );
    const explained = await runtime.explain({ tool: "mail", arguments: { to: "ada" } }, asker);
    expect(explained).toMatchObject({ reached: "verdict", decision: { verdict: "ALLOW", observed: "DENY" } });
    const critical = await runtime.invoke({ tool: "drop", arguments: { to: "users" } }, asker);
    expect(critical.status).toBe("pending");
    expect((await runtime.invoke({ tool: "nothing", arguments: {} }, asker)).refusal?.code).toBe("tool_unknown");
  });
});

it("the library reports its warnings", () => {
  expect(policyWarnings({ mode: "observe" })).toHaveLength(1);
});

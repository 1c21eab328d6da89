import { describe, expect, it } from "vitest";
import type { Decider } from "../../packages/postern/src/approvals/index.ts";
import type { AuditEvent } from "../../packages/postern/src/audit/index.ts";
import { verifyExport } from "../../packages/postern/src/audit/verify.ts";
import { ann, approve, ask, bob, deny, mail, operatorToken, routed } from "../fakes/deciders.ts";
import { bodyOf, httpFixture, inSession } from "../fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

async function firstEventOf(h: RuntimeFixture, type: string): Promise<AuditEvent> {
  const [event] = await h.runtime.audit.query({ type });
  if (event === undefined) throw new Error(`There is no \`${type}\`.`);
  return event;
}

describe("the log names the credential", () => {
  it.each<readonly [string, Decider]>([
    ["a session", ann],
    ["a token", { user: "ann", via: "token:tok_1f2e", tenant: "default" }],
    ["a channel", { user: "ann", via: "channel:ops", tenant: "default" }],
    ["the operator's token", operatorToken],
  ])("of each decision by %s", async (_, by) => {
    await using h = await runtimeFixture();
    await approve(h, await ask(h, mail("1")), by);
    await deny(h, await ask(h, mail("2")), by);
    await h.runtime.approvals.decide(await ask(h, mail("3")), { decision: "skipped", by });
    await h.runtime.approvals.decide(await ask(h, mail("4")), { decision: "modified", arguments: { to: "5" }, by });
    const taken = await ask(h, mail("6"));
    await approve(h, taken, by);
    await h.runtime.approvals.revoke(taken, by);
    await h.runtime.approvals.withdraw(await ask(h, mail("7")), by);
    for (const as of ["approved", "denied", "skipped", "modified", "revoked", "withdrawn"])
      expect(await firstEventOf(h, `gate.${as}`)).toMatchObject({ decided_by: by.user, decided_via: by.via });
  });

  it("of a vote, a grant and its end", async () => {
    await using h = await runtimeFixture(routed({ match: { tools: ["drop"] }, quorum: 2 }));
    await h.runtime.approvals.decide(await ask(h, { tool: "drop", arguments: { to: "x" } }), {
      ...{ decision: "approved", confirmation: "drop", by: ann },
    });
    const remember = { for: "run", reason: "to the team" } as const;
    const made = await approve(h, await ask(h), ann, { remember });
    const grantId = made.decided ? (made.grant?.id ?? "") : "";
    await h.runtime.approvals.grants.revoke(grantId, bob);
    for (const type of ["approval.voted", "grant.made"])
      expect(await firstEventOf(h, type)).toMatchObject({ decided_by: "ann", decided_via: "session:1" });
    expect(await firstEventOf(h, "grant.revoked")).toMatchObject({ decided_by: "bob", decided_via: "session:2" });
  });

  it("of an approver in code, and of an expiry", async () => {
    const approver = { name: "code", ask: async () => ({ decision: "approved" as const }) };
    await using h = await runtimeFixture({ approvals: { approver, patience: "suspend", ttlMs: 1000 } });
    await ask(h);
    await h.clock.advance(10);
    expect(await firstEventOf(h, "gate.approved")).toMatchObject({ decided_by: "code", decided_via: "approver:code" });
    await using silent = await runtimeFixture({ approvals: { patience: "suspend", ttlMs: 1000 } });
    await ask(silent);
    await silent.clock.advance(1000);
    expect(await firstEventOf(silent, "gate.expired")).toMatchObject({ decided_by: "clock", decided_via: "postern" });
  });

  it("that the server accepted, also in the export, and verifies as intact", async () => {
    await using h = await runtimeFixture({ accounts: { passwordCost: cheap } });
    await h.runtime.accounts.add({ name: "ann", roles: ["approver"], password: goodPassword }, holder);
    await using http = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock });
    const session = inSession(entered(await h.runtime.accounts.signIn("ann", goodPassword, here)));
    const made = await bodyOf(await http.ask("/v1/tokens", { headers: session, body: { name: "ci", kind: "person" } }));
    const { id } = made["details"] as { readonly id: string };
    const token = { authorization: `Bearer ${String(made["token"])}` };
    for (const [to, headers] of Object.entries({ byToken: token, bySession: session }))
      await http.ask(`/v1/approvals/${await ask(h, mail(to))}/approve`, { headers, body: {} });
    const listed = await bodyOf(await http.ask("/v1/audit?type=gate.approved", { as: "operator" }));
    const vias = [`token:${id}`, "session:ann"];
    expect(listed["events"]).toMatchObject(vias.map((decided_via) => ({ decided_by: "ann", decided_via })));
    expect((await h.runtime.audit.query({ text: `token:${id}`, type: "gate." })).length).toBe(1);
    const lines: string[] = [];
    for await (const line of h.runtime.audit.export()) lines.push(line);
    for (const via of vias) expect(lines.join("\n")).toContain(`"decided_via":"${via}"`);
    expect(await verifyExport(lines)).toMatchObject({ intact: true });
    const forged = lines.map((line) => line.replace(`"decided_via":"token:${id}"`, '"decided_via":"session:ann"'));
    expect(await verifyExport(forged)).toMatchObject({ intact: false });
  });
});

/** Two real gateways on one store follow one policy. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { createClient } from "../../../packages/postern/src/server/client/client.ts";
import { type GatewayProcess, GatewayProcesses } from "../../fakes/gateway-processes.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";

const postgres = testPostgres();
const echo = { tool: "echo", arguments: { text: "hi" } };
const closing = { rules: [{ effect: "deny", tool: "echo", id: "closed" }] };

/** The outcome of a call of `echo` at a gateway. */
async function called(gateways: GatewayProcesses, { url }: GatewayProcess): Promise<string> {
  const { status, refusal } = await createClient({ url, token: gateways.agentToken }).calls.call(echo);
  return refusal?.code ?? status;
}

it("refuses on one gateway what `policy activate` on another closed, and names a file that differs", async () => {
  const config = { tools: { modules: ["./tools.ts"] }, store: postgres.newStore() };
  await using gateways = new GatewayProcesses(config.store);
  writeFileSync(join(gateways.folder, "closed.yaml"), stringify({ ...config, policy: closing }));
  const [a, b] = await Promise.all([gateways.gateway("a"), gateways.gateway("b")]);
  expect([await called(gateways, a), await called(gateways, b)]).toEqual(["ok", "ok"]);

  const activated = await gateways.run("policy", "activate", "closed.yaml", "--data", "a", "--reason", "incident");
  expect(activated).toMatchObject({ code: 0, out: expect.stringContaining("The rule `closed` is added.") });
  expect(await called(gateways, a)).toBe("permission_denied");
  await expect.poll(() => called(gateways, b)).toBe("permission_denied");

  const [c, d] = await Promise.all([gateways.gateway("c"), gateways.gateway("d", "closed.yaml")]);
  expect(await called(gateways, c)).toBe("permission_denied");
  const differs = /postern\.yaml` differs from the active one, .* policy activate postern\.yaml` makes this file/;
  await expect.poll(c.log).toMatch(differs);
  expect(d.log()).not.toContain("differs from the active one");
});

it("counts on each gateway what was saved with `activate` at another", async () => {
  await using gateways = new GatewayProcesses(postgres.newStore(), { console: { edit_policy: true } });
  const [a, b] = await Promise.all([gateways.gateway("a"), gateways.gateway("b")]);
  expect(await called(gateways, a)).toBe("ok");
  const { digest } = await b.operator.policy.text();
  const text = stringify({ policy: closing });
  const saved = await b.operator.policy.save({ text, expected_digest: digest, activate: true });
  expect(saved).toMatchObject({ in_force: { changes: ["The rule `closed` is added."] } });
  await expect.poll(() => called(gateways, a)).toBe("permission_denied");
  const { policy_version: onA } = await a.operator.policy.show();
  expect((await b.operator.policy.show()).policy_version).toBe(onA);
});

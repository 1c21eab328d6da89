/** A refusal names the condition that failed, and the value that it met. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, defineTool, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import type { Guardrail } from "../../packages/postern/src/policy/index.ts";
import { environmentSecrets } from "../../packages/postern/src/secrets/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";

const pay = defineTool({
  ...{ name: "pay", description: "Pays.", risk: "medium", effects: "write", idempotent: false },
  input: z.object({ to: z.string().optional(), amount: z.number().default(1), tags: z.array(z.string()).optional() }),
  execute: ({ amount }) => `paid ${amount}`,
});
type Rules = NonNullable<Extract<NonNullable<RuntimeOptions["policy"]>, { rules?: unknown }>["rules"]>;
type Given = Readonly<Record<string, string | number | readonly string[]>>;

async function refused(options: Partial<RuntimeOptions>, ...calls: readonly Given[]): Promise<string> {
  await using runtime = await createRuntime({ tools: [pay], autonomy: "A4", clock: new FakeClock(), ...options });
  const messages: string[] = [];
  for (const given of calls) {
    const { refusal } = await runtime.invoke({ tool: "pay", arguments: given as never }); // frozen lists are lists
    messages.push(refusal?.message ?? "ok");
  }
  return messages.at(-1) ?? "";
}
const byRules = (rules: Rules, ...calls: readonly Given[]) => refused({ policy: { rules } }, ...calls);

describe("a refusal by the policy", () => {
  it.each<[string, Rules, readonly Given[], readonly string[]]>([
    [
      "a limit on a number",
      [{ effect: "deny", tool: "pay", id: "big", where: "p.yaml:7", arguments: { "$.amount": { above: 100 } } }],
      [{ amount: 250 }],
      ["rule deny #1 (big)", "(p.yaml:7)", "`$.amount` is 250 (above 100)"],
    ],
    [
      "the only value of several that matters, and the missing one",
      [{ effect: "deny", tool: "pay", arguments: { "$.to": { not: { like: "*@acme.com" } } } }],
      [{}],
      ['`$.to` is missing (not like "*@acme.com")'],
    ],
    [
      "a list",
      [{ effect: "deny", tool: "pay", arguments: { "$.tags[*]": { oneOf: ["x", "y"] } } }],
      [{ tags: ["a", "x"] }],
      ['`$.tags[*]` is ["a","x"] (one of ["x","y"])'],
    ],
    [
      "an earlier call",
      [{ effect: "deny", tool: "pay", history: { within: "run", atMost: 2 } }],
      [{}, {}, {}],
      ["at most 2 calls of `pay`", "with this call there are 3"],
    ],
    [
      "a sum",
      [{ effect: "deny", tool: "pay", history: { within: "run", sum: { path: "$.amount", atMost: 500 } } }],
      [{ amount: 400 }, { amount: 220 }],
      ["a sum of $.amount of at most 500", "with this call it is 620"],
    ],
    ["who calls", [{ effect: "deny", tool: "pay", principal: { agent: "def*" } }], [{}], ["it is about agent `def*`"]],
    ["the risk", [{ effect: "deny", tool: "pay", risk: "medium" }], [{}], ["it is about risk medium and above"]],
  ])("names %s", async (_what, rules, calls, parts) => {
    const message = await byRules(rules, ...calls);
    for (const part of parts) expect(message).toContain(part);
  });

  it("names what an `allow` rule needs and did not find", async () => {
    const rules: Rules = [
      {
        effect: "allow",
        tool: "pay",
        id: "ours",
        arguments: { "$.to": { like: "*@acme.com" }, "$.amount": { atMost: 9 } },
      },
    ];
    const message = await refused({ policy: { default: "deny", rules } }, { to: "eve@evil.com", amount: 5 });
    expect(message).toContain(
      'rule allow #1 (ours) does not hold for this call: `$.to` is "eve@evil.com" (like "*@acme.com")',
    );
    expect(message).not.toContain("$.amount");
  });

  it("names the path that a sandbox refused", async () => {
    const sandbox = [{ tool: "pay", argument: "$.to", within: ["/work/**"] }];
    expect(await refused({ policy: { sandbox } }, { to: "/etc/passwd" })).toContain('`$.to` is "/etc/passwd"');
  });
});

describe("another refusal", () => {
  it("names the guardrail, the cooldown and its remaining time", async () => {
    const guard: Guardrail = {
      name: "rivals",
      on: "arguments",
      check: ({ text }) => (text.includes("rival") ? [{ effect: "DENY", why: "it names a rival" }] : []),
    };
    expect(await refused({ guardrails: [guard] }, { to: "rival" })).toContain("guardrail rivals: it names a rival");
    const policy = { pack: { antiFlap: { cooldownSeconds: 60 } } };
    expect(await refused({ policy }, {}, {})).toContain("within 60 s; it may run again in 60 s");
  });

  it("names why a person is needed if none can be asked", async () => {
    const rules: Rules = [{ effect: "confirm", tool: "pay", id: "much", arguments: { "$.amount": { above: 100 } } }];
    const message = await byRules(rules, { amount: 250 });
    expect(message).toContain("rule confirm #1 (much): `$.amount` is 250 (above 100)");
    const quietHours = { from: "00:00", to: "23:59", timeZone: "UTC" };
    expect(await refused({ policy: { pack: { quietHours } } }, {})).toContain("quiet hours (00:00 to 23:59, UTC)");
  });

  it("names the expired request and its time", async () => {
    const clock = new FakeClock();
    const approvals = { patience: "suspend", ttlMs: 60_000 } as const;
    const policy = { rules: [{ effect: "confirm", tool: "pay" }] } as const;
    await using runtime = await createRuntime({ tools: [pay], autonomy: "A4", clock, approvals, policy });
    const { approvalId = "" } = await runtime.invoke({ tool: "pay", arguments: {} });
    await clock.advance(61_000);
    const message = (await runtime.resume(approvalId))?.refusal?.message;
    expect(message).toContain(`\`${approvalId}\``);
    expect(message).toContain("2026-11-20T00:01:00.000Z");
  });

  it("names the earlier call that used an idempotency key", async () => {
    await using runtime = await createRuntime({ tools: [pay], autonomy: "A4" });
    const call = (amount: number) =>
      runtime.invoke({ tool: "pay", arguments: { amount } }, { idempotencyKey: "order-7" });
    const { callId } = await call(1);
    const { refusal } = await call(2);
    expect(refusal?.message).toBe(
      `The idempotency key "order-7" was used with other arguments by the call \`${callId}\`; send another call with a key of its own.`,
    );
  });

  it("names the tool that a closed session did not run", async () => {
    await using runtime = await createRuntime({ tools: [pay], autonomy: "A4" });
    const session = runtime.openSession();
    await session.close();
    const { refusal } = await session.invoke({ tool: "pay", arguments: {} });
    expect(refusal?.message).toBe("Its session is closed, so `pay` was not run; open another one.");
  });

  it("names the tool and by how much its deadline passed", async () => {
    const clock = new FakeClock();
    await using runtime = await createRuntime({ tools: [pay], autonomy: "A4", clock });
    const late = runtime.invoke({ tool: "pay", arguments: {} }, { deadline: clock.now() - 20 });
    await expect(late).rejects.toThrow("The caller's deadline passed 20 ms ago; `pay` was not run.");
  });

  it("names the scope for which a person is needed", async () => {
    const reads = { ...pay, scopes: ["secrets:read"] };
    await using runtime = await createRuntime({ tools: [reads], autonomy: "A4" });
    const { refusal } = await runtime.invoke({ tool: "pay", arguments: {} }, { scopes: ["secrets:read"] });
    expect(refusal?.message).toContain("tools with the scope `secrets:read` always need approval");
  });

  it("names the running call", async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<string>();
    const { promise: began, resolve: begin } = Promise.withResolvers<void>();
    const execute = (): Promise<string> => {
      begin();
      return ended;
    };
    const slow = defineTool({ ...pay, execute });
    await using runtime = await createRuntime({ tools: [slow], autonomy: "A4" });
    const call = () => runtime.invoke({ tool: "pay", arguments: {} }, { idempotencyKey: "order-7" });
    const first = call();
    await began;
    const { refusal } = await call();
    end("paid");
    const { callId } = await first;
    expect(refusal?.message).toBe(`The same call, \`${callId}\`, is running now; send it again later for its outcome.`);
  });

  it("names the argument that holds a secret, and not the secret", async () => {
    const value = "correct-horse-battery";
    const redactor = createRedactor();
    const secrets = environmentSecrets({ redactor, environment: { POSTERN_SECRET_BANK_TOKEN: value } });
    const message = await refused({ redactor, secrets }, { to: "ada", tags: ["a", `x ${value}`] });
    expect(message).toBe("`$.tags[1]` holds a secret, so the tool was not run; name it by reference instead.");
  });
});

/** Rules, adjusters, guardrails and people check the content of `{"$artifact": …}`, because the tool gets that content. */
import { expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool, type RuntimeOptions, type ToolOutcome } from "../../packages/postern/src/index.ts";

type Policy = Extract<NonNullable<RuntimeOptions["policy"]>, { rules?: unknown }>;

const made = defineTool({
  name: "made",
  description: "Makes a text.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  input: z.object({ text: z.string(), times: z.number().default(1) }),
  execute: ({ text, times }) => text.repeat(times),
});

async function scene(policy: Policy = {}, more: Partial<RuntimeOptions> = {}) {
  const mails: string[] = [];
  const input = z.object({ to: z.string(), body: z.string().default("") });
  const mail = defineTool({
    ...{ name: "mail", description: "Sends a mail.", risk: "medium", effects: "write", idempotent: false, input },
    execute: ({ to, body }) => {
      mails.push(to);
      return `sent ${body.length}`;
    },
  });
  const count = defineTool({
    ...{ name: "count", description: "Counts.", risk: "safe", effects: "read", idempotent: true, input },
    execute: ({ body }) => String(body.length),
  });
  const runtime = await createRuntime({
    tools: [made, mail, count],
    autonomy: "A3",
    approvals: { patience: "suspend" },
    policy,
    ...more,
  });
  const session = runtime.openSession({ maxInlineResultBytes: 0 });
  const behind = async (text: string, times = 1): Promise<string> => {
    const { artifact } = await session.invoke({ tool: "made", arguments: { text, times } });
    return { $artifact: artifact } as never; // passes as the text it stands for
  };
  const call = (tool: string, to: string, body = ""): Promise<ToolOutcome> =>
    session.invoke({ tool, arguments: { to, body } });
  return { runtime, mails, behind, call, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() };
}

it("raises the risk of a mail to a group whose address is an artifact", async () => {
  await using s = await scene();
  expect((await s.call("mail", await s.behind("everyone@acme.com"))).status).toBe("pending");
  expect((await s.call("mail", await s.behind("ada@acme.com"))).status).toBe("ok");
  expect(s.mails).toEqual(["ada@acme.com"]);
});

it.each<[string, Policy]>([
  ["deny", { rules: [{ effect: "deny", tool: "mail", arguments: { "$.to": { like: "*@evil.com" } } }] }],
  [
    "allow",
    {
      default: "deny",
      rules: [
        { effect: "allow", tool: "made" },
        { effect: "allow", tool: "mail", arguments: { "$.to": { like: "*@acme.com" } } },
      ],
    },
  ],
])("holds the content against a rule that says %s", async (_effect, policy) => {
  await using s = await scene(policy);
  const denied = await s.call("mail", await s.behind("eve@evil.com"));
  expect(denied.refusal?.code).toBe("permission_denied");
  expect((await s.call("mail", await s.behind("ada@acme.com"))).status).toBe("ok");
});

it("compares the content with earlier calls, in both directions", async () => {
  const forbids = { tool: "mail", same: "$.to" };
  const rules = [{ effect: "deny", tool: "mail", history: { within: "tenant", forbids } }] as const;
  await using s = await scene({ rules });
  expect((await s.call("mail", await s.behind("ada@acme.com"))).status).toBe("ok");
  expect((await s.call("mail", "ada@acme.com")).refusal?.code).toBe("permission_denied");
  expect((await s.call("mail", "bob@acme.com")).status).toBe("ok");
  expect((await s.call("mail", await s.behind("bob@acme.com"))).refusal?.code).toBe("permission_denied");
});

it("blocks a repetition whose argument is first text and then an artifact", async () => {
  await using s = await scene({ pack: { antiFlap: { cooldownSeconds: 600 } } });
  expect((await s.call("mail", await s.behind("ada@acme.com"), "hello")).status).toBe("ok");
  expect((await s.call("mail", "ada@acme.com", "hello")).refusal?.code).toBe("antiflap_blocked");
});

it("shows the approver what the artifacts hold", async () => {
  await using s = await scene();
  const { approvalId = "" } = await s.call("mail", await s.behind("everyone@acme.com"), await s.behind("hi ", 3));
  const approval = await s.runtime.approvals.get(approvalId);
  expect(approval?.artifacts).toMatchObject([
    { path: "$.body", bytes: 9, text: "hi hi hi " },
    { path: "$.to", bytes: 17, text: "everyone@acme.com" },
  ]);
});

it("shows the approver the artifacts of an edit, not those of the request", async () => {
  await using s = await scene({}, { approvals: { patience: "suspend" } });
  const { approvalId = "" } = await s.call("mail", await s.behind("everyone@acme.com"));
  const to = await s.behind("ada@acme.com");
  const edit = { decision: "modified", arguments: { to, body: "" }, by: { user: "olga" } } as const;
  expect((await s.runtime.approvals.decide(approvalId, edit)).decided).toBe(true);
  const { artifacts } = (await s.runtime.approvals.get(approvalId)) ?? {};
  expect(artifacts?.map(({ text }) => text)).toEqual(["ada@acme.com"]);
});

it("lets a grant answer only if the content fits its conditions", async () => {
  await using s = await scene({ rules: [{ effect: "confirm", tool: "mail" }] });
  const { approvalId = "" } = await s.call("mail", await s.behind("ada@acme.com"));
  const scope = { arguments: { "$.to": { like: "*@acme.com" } } };
  const remember = { scope, for: "run", reason: "our own people" } as const;
  await s.runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "olga" }, remember });
  expect((await s.call("mail", await s.behind("bob@acme.com"))).status).toBe("ok");
  expect((await s.call("mail", await s.behind("eve@evil.com"))).status).toBe("pending");
});

it("asks a person about an artifact that is too large to check, and says so", async () => {
  await using s = await scene({}, { autonomy: "A4" });
  const fits = await s.behind("x", 1_048_576);
  expect((await s.call("mail", "ada@acme.com", fits)).status).toBe("ok");
  const { status, approvalId = "" } = await s.call("mail", "ada@acme.com", await s.behind("x", 1_048_577));
  expect(status).toBe("pending");
  const approval = await s.runtime.approvals.get(approvalId);
  const rule = "arguments too large to look at: `$.body` (1048577 bytes)";
  expect(approval?.why).toContainEqual({ rule, effect: "CONFIRM" });
  expect(approval?.artifacts).toMatchObject([{ path: "$.body", bytes: 1_048_577 }]);
  expect(approval?.artifacts?.[0]).not.toHaveProperty("text");
});

it("still checks the small artifacts beside a large one", async () => {
  const rules = [
    { effect: "allow", tool: "made" },
    { effect: "allow", tool: "mail", arguments: { "$.to": { like: "*@acme.com" } } },
  ] as const;
  await using s = await scene({ default: "deny", rules });
  const large = await s.behind("x", 3_000_000);
  expect((await s.call("mail", await s.behind("ada@acme.com"), large)).status).toBe("pending");
  expect((await s.call("mail", await s.behind("eve@evil.com"), large)).refusal?.code).toBe("permission_denied");
});

it("lets a safe reading tool take a large artifact, unless a rule needs its content", async () => {
  await using free = await scene();
  expect((await free.call("count", "ada", await free.behind("x", 2_000_000))).status).toBe("ok");
  await using ruled = await scene({
    rules: [{ effect: "confirm", tool: "count", arguments: { "$.to": { equals: "eve" } } }],
  });
  expect((await ruled.call("count", "ada", await ruled.behind("x", 2_000_000))).status).toBe("pending");
});

it("simulates recorded calls with the content of their artifacts", async () => {
  await using s = await scene();
  await s.call("mail", await s.behind("ada@acme.com"));
  const changed = async (to: string): Promise<number> => {
    const rules = [{ effect: "deny", tool: "mail", arguments: { "$.to": { equals: to } } }] as const;
    return (await s.runtime.policy.simulate({ rules })).changes.length;
  };
  expect([await changed("ada@acme.com"), await changed("bob@acme.com")]).toEqual([1, 0]);
});

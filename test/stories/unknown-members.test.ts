import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, vi } from "vitest";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import {
  isHostedTool,
  isProviderDefinedTool,
  legacyTool,
  scanCatalogue,
  specOf,
  Toolbox,
} from "../../packages/postern/src/tools/index.ts";
import type { AnyTool } from "../../packages/postern/src/tools/kinds.ts";
import { ownFolder } from "../fakes/own-folder.ts";

const plain = {
  name: "send",
  description: "Sends a mail.",
  risk: "safe",
  idempotent: false,
  execute: (): string => "sent",
} as const;

const refusal = async (tool: object): Promise<string> => {
  try {
    await using _ = await createRuntime({ tools: [tool as AnyTool] });
    return "taken";
  } catch (error) {
    return String(error);
  }
};

it.each([
  ["scopes_required", "is written `scopes` here; or take the tool as it is with legacyTool()"],
  ["scopesRequired", "is written `scopes` here; or take"],
  ["risk_map", "is written `actions` here"],
  ["supports_preview", "is written `preview` here"],
  ["requires_idempotency_key", "is written `requireIdempotencyKey` here"],
  ["input_schema", "is written `inputSchema` here"],
  ["timeout_ms", "is written `timeoutMs` here"],
  ["scope", "did you mean `scopes`?"],
  ["permission", "did you mean `permissions`?"],
  ["timeout", "did you mean `timeoutMs`?"],
  ["requiresApproval", "is not a member of a tool, so it would have no effect; take it out."],
])("refuses a plain tool with the unknown member %s", async (member, fix) => {
  for (const tool of [
    { ...plain, [member]: ["mail:send"] },
    defineTool({ ...plain, [member]: ["mail:send"] } as typeof plain),
  ]) {
    const message = await refusal(tool);
    expect(message).toContain(`Tool \`send\`: \`${member}\` `);
    expect(message).toContain(fix);
  }
});

it.each([
  ["an action", { ...plain, actions: { go: { scope: ["x"] } } }, "`send.go`: `scope` is not a member of an action"],
  ["ui", { ...plain, ui: { resourceUri: "ui://a/b", pages: 1 } }, "`pages` is not a member of `ui`"],
  [
    "a hosted tool",
    { name: "web", description: "d", providerSpecs: {}, scopes: ["x"] },
    "not a member of a hosted tool",
  ],
  [
    "a provider-defined tool",
    { name: "pc", description: "d", providerSpecs: {}, callTypes: ["c"], handleCall: () => "x", scopes: ["x"] },
    "not a member of a provider-defined tool",
  ],
  [
    "provider specs",
    { name: "web", description: "d", providerSpecs: { opnai: {} } },
    "`providerSpecs.opnai` is no provider; did you mean `openai`?",
  ],
])("refuses an unknown member of %s", async (_what, tool, message) => {
  expect(await refusal(tool)).toContain(message);
});

it("refuses unknown options of a registration, and options for no action", async () => {
  await using runtime = await createRuntime();
  const { tools } = runtime;
  expect(() => tools.register(plain, { scope: ["x"] } as object)).toThrow(/`scope` is not a member of the options/);
  expect(() => tools.register(plain, { actions: { go: { scopes: ["x"] } } })).toThrow(/is not an action of the tool/);
  const misspelt = { actions: { default: { scope: ["x"] } } } as object;
  expect(() => tools.register(plain, misspelt)).toThrow(/`scope` is not a member of the options of an action/);
});

it("takes own fields of a class, but no near miss of a known name", async () => {
  class Sender {
    readonly name: string = "send";
    readonly description = "Sends a mail.";
    readonly risk = "safe";
    readonly idempotent = false;
    readonly options = { host: "mail.example" };
    readonly uri = "smtp://mail.example";
    readonly _scopes = 1;
    readonly undefinedYet = undefined;
    execute(): string {
      return this.options.host;
    }
    close(): void {}
  }
  expect(await refusal(new Sender())).toBe("taken");
  for (const field of ["scope", "Scopes", "timeout", "scopes_required", "idempotant"])
    expect(await refusal(Object.assign(new Sender(), { [field]: ["x"] }))).toContain(`\`${field}\``);
});

it("enforces the scopes and risks that a tool of the gateway's design states", async () => {
  class Mail {
    readonly tool_name = "mail";
    readonly name = "mail";
    readonly description = "Reads and sends mail.";
    readonly capabilities = ["read", "send"];
    readonly scopes_required = ["mail:send"];
    readonly risk_default = "low";
    readonly risk_map = { send: "high" };
    readonly supports_preview = false;
    readonly requires_idempotency_key = true;
    readonly #from = "ada";
    execute(action: string, request: { readonly to: string }, context: { readonly grantedScopes: readonly string[] }) {
      return `${action} ${request.to} from ${this.#from} with ${context.grantedScopes.join()}`;
    }
    preview(): { summary: string } {
      return { summary: "never shown" };
    }
  }
  await using runtime = await createRuntime({ tools: [legacyTool(new Mail())] });
  const read = { tool: "mail", action: "read", arguments: { to: "bob" } };
  const key = { idempotencyKey: "k" };
  expect(await runtime.invoke(read, key)).toMatchObject({ refusal: { code: "scope_missing" } });
  const granted = { ...key, scopes: ["mail:send"] };
  expect(await runtime.invoke(read, granted)).toMatchObject({ text: "read bob from ada with mail:send" });
  expect(await runtime.invoke({ ...read, action: "send" }, granted)).toMatchObject({ status: "denied" });
  expect(runtime.tools.get("mail")).toMatchObject({
    ...{ capabilities: ["read", "send"], scopes: ["mail:send"], supportsPreview: false },
    ...{ riskDefault: "safe", riskMap: { read: "safe", send: "high" } },
  });
  expect(runtime.tools.offer("mail", "send")?.requireIdempotencyKey).toBe(true);
});

it("asks for the preview that supports_preview promises", () => {
  const promised = { ...plain, supports_preview: true };
  expect(() => legacyTool(promised)).toThrow(/`supports_preview` is true, but there is no `preview`/);
});

it("guards and a box take the designs' names, and a runtime offers such a box", async () => {
  const named = { name: "pc", description: "d", provider_specs: { openai: { type: "computer" } } };
  const defined = { ...named, handle_call: () => "x", call_types: ["computer_call"] };
  expect([isHostedTool(named), isProviderDefinedTool(named)]).toEqual([true, false]);
  expect([isHostedTool(defined), isProviderDefinedTool(defined)]).toEqual([false, true]);
  const search = {
    ...{ name: "find", description: "d", risk: "safe", defer_loading: true },
    input_schema: { type: "object", properties: { q: { type: "string" } } },
    execute: (_context: unknown, { q }: { readonly q: string }) => `found ${q}`,
  };
  const box = new Toolbox([defined, search] as unknown as readonly AnyTool[]);
  expect(box.get("pc")).toBe(defined);
  expect(box.schemas()).toEqual([
    { type: "computer" },
    { name: "find", description: "d", parameters: search.input_schema, deferLoading: true },
  ]);
  expect(specOf(defined as never, "openai")).toMatchObject({ kind: "provider", callTypes: ["computer_call"] });
  await using runtime = await createRuntime({ tools: box });
  expect(await runtime.invoke({ tool: "find", arguments: { q: "x" } })).toMatchObject({ text: "found x" });
  expect(await refusal(search)).toContain("legacyTool()");
});

const calculator = (more: string): string => `
export class CalculatorTool {
  name = "calculator";
  description = "Adds two numbers.";
  ${more}
  input_schema = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] };
  async execute(ctx: { callId: string }, { a, b }: { a: number; b: number }) {
    return { content: [{ type: "text", text: String(a + b) }], is_error: false };
  }
}`;

it("finds the designs' CalculatorTool, and skips an incomplete tool with a warning", async () => {
  const folder = ownFolder();
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write("calculator/tool.ts", calculator('risk = "safe";'));
  write("riskless/tool.ts", calculator("").replace("calculator", "riskless"));
  write("scoped/tool.mjs", `export default { ...${JSON.stringify(plain)}, scope: ["x"], execute: () => "x" };`);
  const warn = vi.fn();
  const found = await scanCatalogue(folder, { warn });
  expect(found.map(({ name }) => name)).toEqual(["calculator"]);
  expect(warn.mock.calls.flat().sort()).toEqual([
    expect.stringMatching(/riskless.* is skipped: .*`risk` is missing/),
    expect.stringMatching(/scoped.* is skipped: .*did you mean `scopes`/),
  ]);
  await using runtime = await createRuntime({ tools: found.map(({ tool }) => tool) });
  expect(await runtime.invoke({ tool: "calculator", arguments: { a: 1, b: 2 } })).toMatchObject({ text: "3" });
});

it("refuses a risk of low with advice; legacyTool reads it as safe", async () => {
  const low = { ...plain, risk: "low" };
  expect(await refusal(low)).toContain("`risk` is `low`; write `safe` if it has no side effect, else `medium`.");
  expect(await refusal(legacyTool(low))).toBe("taken");
  await using runtime = await createRuntime();
  expect(() => runtime.tools.register(plain, { risk: "low" as "safe" })).toThrow(/else `medium`/);
  await expect(createRuntime({ limits: { maxRiskUnapproved: "low" as "safe" } })).rejects.toThrow(/else `medium`/);
});

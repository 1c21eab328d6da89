/** What the tools of five real MCP servers cost a model's context, by how they are declared. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import type { TokenRow } from "../../../bench/agent-libraries.ts";
import { openAgentTools } from "../../../packages/agents/src/agent-tools.ts";
import { openaiTools } from "../../../packages/agents/src/openai.ts";
import { toolSearch, toolSearchName } from "../../../packages/agents/src/tool-search.ts";
import { connectMcp, type McpServer } from "../../../packages/postern/src/mcp/client/connect-mcp.ts";
import { createRuntime } from "../../../packages/postern/src/runtime/create.ts";
import type { AnyTool } from "../../../packages/postern/src/tools/kinds.ts";

const encoder = new Tiktoken(o200k);

function tokensOf(declared: readonly unknown[]): number {
  return declared.reduce<number>((sum, one) => sum + encoder.encode(JSON.stringify(one)).length, 0);
}

function serversIn(folder: string): readonly (McpServer & { readonly name: string })[] {
  const modules = join(import.meta.dirname, "../node_modules");
  const node = (name: string, path: string, ...args: string[]) => ({
    ...{ name, command: process.execPath, args: [join(modules, path), ...args], startTimeoutMs: 120_000 },
  });
  const official = (name: string, ...args: string[]) =>
    node(name.replaceAll("-", "_"), `@modelcontextprotocol/server-${name}/dist/index.js`, ...args);
  return [
    official("filesystem", folder),
    official("everything", "stdio"),
    { ...official("memory"), env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") } },
    official("sequential-thinking"),
    node("playwright", "@playwright/mcp/cli.js", "--headless"), // it lists its tools without a browser
  ];
}

async function row(server: string, tools: readonly AnyTool[]): Promise<TokenRow> {
  const declared = async (given: readonly AnyTool[], searches: boolean): Promise<readonly unknown[]> => {
    await using runtime = await createRuntime({ tools: given });
    if (searches) runtime.tools.register(toolSearch(runtime));
    const own = openAgentTools(runtime).list();
    return openaiTools(searches ? own.filter(({ name }) => name === toolSearchName) : own, { onNote: () => undefined });
  };
  const deferred = tools.map((tool) => ({ ...tool, deferLoading: true }));
  const atOnce = (await declared(deferred, false)).filter((one) => !isDeferred(one));
  await using scripted = await createRuntime({ tools, chains: { engines: ["quickjs"] } });
  const chain = openAgentTools(scripted)
    .list()
    .filter(({ name }) => name === "tool_chain");
  return {
    ...{ server, tools: tools.length },
    all: tokensOf(await declared(tools, false)),
    deferred: tokensOf(atOnce),
    search: tokensOf(await declared(deferred, true)),
    codeMode: tokensOf(openaiTools(chain, { onNote: () => undefined })),
  };
}

function isDeferred(declared: unknown): boolean {
  return typeof declared === "object" && declared !== null && "defer_loading" in declared;
}

export async function measureTokens(): Promise<readonly TokenRow[]> {
  const folder = await mkdtemp(join(tmpdir(), "postern-tokens-"));
  try {
    const rows: TokenRow[] = [];
    const every: AnyTool[] = [];
    for (const server of serversIn(folder)) {
      await using box = await connectMcp(server);
      rows.push(await row(server.name, box.all()));
      every.push(...box.all());
    }
    return [...rows, await row("all five", every)];
  } finally {
    await rm(folder, { recursive: true });
  }
}

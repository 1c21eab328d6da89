/** What it takes to declare 1,000 tools to each provider, beside `JSON.stringify` of the same declarations. */
import { openAgentTools } from "../packages/agents/src/agent-tools.ts";
import { anthropicTools } from "../packages/agents/src/anthropic.ts";
import { googleTools } from "../packages/agents/src/google.ts";
import { openaiChatTools, openaiTools } from "../packages/agents/src/openai.ts";
import { createRuntime } from "../packages/postern/src/index.ts";
import type { LocalTool } from "../packages/postern/src/tools/kinds.ts";
import { type Spread, spreadOf } from "./agent-adapters.ts";

export interface EncodingRow {
  readonly provider: string;
  /** Milliseconds: the list of the runtime's tools, and its encoding. */
  readonly encode: Spread;
  /** Milliseconds. */
  readonly stringify: Spread;
}

const encoders = {
  openai: openaiTools,
  "openai chat": openaiChatTools,
  anthropic: anthropicTools,
  google: googleTools,
};

function toolNumber(i: number): LocalTool {
  const field = (at: number): [string, { type: string; description: string }] => [
    `field_${at}`,
    { type: at % 2 === 0 ? "string" : "integer", description: `Field ${at} of tool ${i}.` },
  ];
  const properties = Object.fromEntries(Array.from({ length: 8 }, (_, at) => field(at)));
  return {
    ...{ name: `tool_${i}`, description: `Does number ${i}.`, risk: "safe", effects: "read", idempotent: true },
    inputSchema: { type: "object", properties, required: Object.keys(properties).slice(0, i % 2 === 0 ? 8 : 4) },
    execute: () => "",
  };
}

export async function measureEncoding(rounds: number): Promise<readonly EncodingRow[]> {
  await using runtime = await createRuntime({ tools: Array.from({ length: 1000 }, (_, i) => toolNumber(i)) });
  const tools = openAgentTools(runtime);
  const times = Object.entries(encoders).map(([provider, encode]) => ({
    ...{ provider, encode },
    ...{ encoded: [] as number[], stringified: [] as number[] },
  }));
  for (let round = 0; round < rounds; round += 1)
    for (const { encode, encoded, stringified } of times) {
      const began = performance.now();
      const declared = encode(tools.list(), { onNote: () => undefined });
      const between = performance.now();
      JSON.stringify(declared);
      encoded.push(between - began);
      stringified.push(performance.now() - between);
    }
  return times.map(({ provider, encoded, stringified }) => ({
    ...{ provider, encode: spreadOf(encoded), stringify: spreadOf(stringified) },
  }));
}

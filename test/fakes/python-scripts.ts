import type {
  SandboxDriver,
  SandboxLimits,
  ScriptProgram,
  ScriptStep,
  SettledCall,
  ToolSketch,
} from "../../packages/core/src/sandbox/sandbox.ts";

export const pythonLimits: SandboxLimits = {
  cpuMs: 3_000,
  memoryBytes: 64 * 1024 * 1024,
  outputBytes: 20_000,
  wallMs: 20_000,
};

/** Resolves when all calls were sent. */
export const startedAt: number = Date.UTC(2026, 10, 20, 9, 30);

const tools = [
  sketch("fs_read", "fs", "read"),
  sketch("echo", undefined, "echo"),
  sketch("refuse", undefined, "refuse"),
  sketch("broken", undefined, "broken"),
];

function sketch(name: string, server: string | undefined, short: string): ToolSketch {
  const inputSchema = {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
    additionalProperties: false,
  };
  return { name, server, short, description: `The tool ${name}.`, inputSchema };
}

export function pythonProgram(source: string, offered: readonly ToolSketch[] = tools): ScriptProgram {
  return { language: "python", source, tools: offered, chainId: "chain_1", startedAt };
}

type Called = Extract<ScriptStep, { step: "calls" }>["calls"][number];

function answer({ place, tool, arguments: given }: Called): SettledCall {
  if (tool === "refuse")
    return {
      place,
      status: "denied",
      code: "approval_denied",
      message: "A person refused.",
      advice: "Ask them.",
      value: null,
    };
  if (tool === "broken") return { place, status: "error", code: "tool_failed", message: "It broke.", value: null };
  return {
    place,
    status: "ok",
    value: {
      status: "ok",
      text: `text of ${String(given["path"] ?? given["text"] ?? given["tool"])}`,
      structured: { place, given },
    },
  };
}

export interface Ran {
  readonly last: ScriptStep;
  readonly batches: readonly (readonly Called[])[];
  readonly printed: string;
}

export async function runPython(
  driver: SandboxDriver,
  source: string,
  own: Partial<SandboxLimits> = {},
  offered?: readonly ToolSketch[],
): Promise<Ran> {
  await using session = await driver.start(pythonProgram(source, offered), { ...pythonLimits, ...own });
  const batches: (readonly Called[])[] = [];
  let printed = "";
  for (;;) {
    const last = await session.next();
    printed += (last.printed ?? []).map(({ text }) => text).join("");
    if (last.step !== "calls") return { last, batches, printed };
    batches.push(last.calls);
    await session.settle(last.calls.map(answer));
  }
}

import type { JsonObject } from "../json.ts";
import type { SandboxDriver, SandboxLimits, ScriptStep, ToolSketch } from "../sandbox/sandbox.ts";

const inputSchema: JsonObject = { type: "object", properties: { to: { type: "string" } } };
export const echoTools: readonly ToolSketch[] = [
  { name: "echo", server: undefined, short: "echo", description: "Says it back.", inputSchema },
];

/** Runs a script and returns its last step; each call is answered with its argument `to`. */
export async function driven(
  driver: Pick<SandboxDriver, "start" | "capabilities">,
  source: string,
  limits: SandboxLimits,
): Promise<ScriptStep> {
  const { language } = driver.capabilities;
  await using session = await driver.start({ language, source, tools: echoTools, chainId: "chain_1" }, limits);
  for (;;) {
    const step = await session.next();
    if (step.step !== "calls") return step;
    await session.settle(
      step.calls.map(({ place, arguments: given }) => ({
        place,
        status: "ok" as const,
        value: { status: "ok", text: String(given["to"] ?? "") },
      })),
    );
  }
}

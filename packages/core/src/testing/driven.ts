import type { JsonObject } from "../json.ts";
import type { AskedCall, SandboxDriver, SandboxLimits, ScriptStep, ToolSketch } from "../sandbox/sandbox.ts";

const inputSchema: JsonObject = { type: "object", properties: { to: { type: "string" } } };
export const echoTools: readonly ToolSketch[] = [
  { name: "echo", server: undefined, short: "echo", description: "Says it back.", inputSchema },
];

/**
 * Runs a script and returns its last step; each call is answered with its argument `to`.
 *
 * @param oneByOne answers one call between two steps, while the others stay open
 */
export async function driven(
  driver: Pick<SandboxDriver, "start" | "capabilities">,
  source: string,
  limits: SandboxLimits,
  oneByOne = false,
): Promise<ScriptStep> {
  const { language } = driver.capabilities;
  await using session = await driver.start({ language, source, tools: echoTools, chainId: "chain_1" }, limits);
  const open: AskedCall[] = [];
  for (;;) {
    const step = await session.next();
    if (step.step !== "calls") return step;
    open.push(...step.calls);
    await session.settle(
      open.splice(0, oneByOne ? 1 : open.length).map(({ place, arguments: given }) => ({
        place,
        status: "ok" as const,
        value: { status: "ok", text: String(given["to"] ?? "") },
      })),
    );
  }
}

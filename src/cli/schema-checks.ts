import type { ToolView } from "../server/contract/tools.ts";
import { agentsIfInstalled } from "./agents-package.ts";
import { type DoctorFinding, warn } from "./findings.ts";

/**
 * Names each tool whose schema makes a model's provider refuse the whole request. The agents package knows the providers; if it
 * is not installed, there are no findings.
 */
export async function* schemaFindings(
  tools: readonly Pick<ToolView, "tool" | "action" | "kind" | "input_schema">[],
): AsyncGenerator<DoctorFinding> {
  const agents = await agentsIfInstalled();
  if (agents === undefined) return;
  for (const { tool, action, kind, input_schema: schema } of tools) {
    const limits = kind === "local" ? agents.providerLimits(schema) : [];
    if (limits.length === 0) continue;
    const name = action === "default" ? `\`${tool}\`` : `\`${tool}\` (\`${action}\`)`;
    yield warn(
      "schemas",
      `Providers of models refuse a request with ${name} as it is declared: ${limits.join(", ")}.`,
      "Postern's adapters for agents rewrite it. A client that passes schemas on unchanged cannot use it: correct the tool's schema.",
    );
  }
}

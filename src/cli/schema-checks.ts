import { providerLimits } from "../agents/provider-schema.ts";
import type { ToolView } from "../server/contract/tools.ts";
import { type DoctorFinding, warn } from "./findings.ts";

/** Names each tool whose schema makes a model's provider refuse the whole request. */
export function* schemaFindings(
  tools: readonly Pick<ToolView, "tool" | "action" | "kind" | "input_schema">[],
): Generator<DoctorFinding> {
  for (const { tool, action, kind, input_schema: schema } of tools) {
    const limits = kind === "local" ? providerLimits(schema) : [];
    if (limits.length === 0) continue;
    const name = action === "default" ? `\`${tool}\`` : `\`${tool}\` (\`${action}\`)`;
    yield warn(
      "schemas",
      `Providers of models refuse a request with ${name} as it is declared: ${limits.join(", ")}.`,
      "Postern's adapters for agents rewrite it. A client that passes schemas on unchanged cannot use it: correct the tool's schema.",
    );
  }
}

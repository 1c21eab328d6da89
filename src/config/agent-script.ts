/** The file of `postern agent run --script`. */
import { z } from "zod";
import { type AgentScript, agentScript } from "../agents/script.ts";
import { type NamedText, parsedText } from "./policy-text.ts";
import type { Shape } from "./shape.ts";

/** @throws ConfigProblems with every mistake, each with its line and what to write instead */
export function readAgentScript(named: NamedText): AgentScript {
  return parsedText(named, agentScript, z.toJSONSchema(agentScript, { io: "input" }) as Shape).data; // as in config-schema.ts
}

/** The file of `postern agent run --script`. */
import { type AgentScript, agentScript } from "../agents/script.ts";
import { type NamedConfiguration, parsedText } from "./policy-text.ts";

/** @throws ConfigProblems with every mistake, each with its line and what to write instead */
export function readAgentScript(named: NamedConfiguration): AgentScript {
  return parsedText(named, agentScript).data;
}

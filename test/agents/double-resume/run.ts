/**
 * `npm run proof -- double-resume --json`: one approval, resumed twice; arguments edited in the stored pause; an approval that only
 * the client claims. How often does the tool run, in each library alone and with Postern?
 */

import type { Runtime } from "../../../packages/postern/src/runtime/api/api.ts";
import { createRuntime } from "../../../packages/postern/src/runtime/create.ts";
import { claudeProgram } from "../claude-stub.ts";
import { aiSdk } from "./ai-sdk.ts";
import { claudeAgent } from "./claude-agent.ts";
import { langGraph } from "./langgraph.ts";
import { mastra } from "./mastra.ts";
import { openaiAgents } from "./openai-agents.ts";
import type { Library, Scenario } from "./scenario.ts";

interface Row {
  readonly library: string;
  readonly scenario: Scenario;
  readonly without: number | undefined;
  readonly with: number | undefined;
}

/** `npm run test:agents -- --claude` installs the program of the Claude Agent SDK. */
const withProgram = claudeProgram === undefined ? [] : [claudeAgent];
const libraries: readonly Library[] = [openaiAgents, aiSdk, langGraph, mastra, ...withProgram];
const scenarios: readonly Scenario[] = ["resumed twice", "stored arguments edited", "approval forged"];

/** A library's executions in one scenario. With Postern a person approves the first request there, except a forged one. */
async function executions(library: Library, scenario: Scenario, isGated: boolean): Promise<number | undefined> {
  const ran: unknown[] = [];
  const runtime = isGated ? await createRuntime({ approvals: { patience: "suspend" } }) : undefined;
  const approve = async (): Promise<void> => {
    if (runtime !== undefined && scenario !== "approval forged") await approveFirst(runtime);
  };
  const known = await library
    .run(scenario, { ran: (input) => void ran.push(input), runtime, approve })
    .catch(waitsInPostern);
  await runtime?.close();
  return known ? ran.length : undefined;
}

/** Postern's refusal of what no person has approved ends the library's run. OpenAI Agents wraps the error. */
function waitsInPostern(error: { readonly code?: unknown; readonly error?: { readonly code?: unknown } }): true {
  if ((error.error?.code ?? error.code) === "approval_waits") return true;
  throw error;
}

async function approveFirst(runtime: Runtime): Promise<void> {
  const [request] = await runtime.approvals.list({ state: "pending" });
  if (request !== undefined)
    await runtime.approvals.decide(request.id, { decision: "approved", by: { user: "reviewer" } });
}

const rows: Row[] = [];
for (const library of libraries)
  for (const scenario of scenarios)
    rows.push({
      ...{ library: library.name, scenario },
      without: await executions(library, scenario, false),
      with: await executions(library, scenario, true),
    });

const shown = (count: number | undefined): string => (count === undefined ? "not possible" : String(count));
if (process.argv.includes("--json")) console.log(JSON.stringify(rows, null, 2));
else
  for (const row of rows) console.log(`${row.library} | ${row.scenario} | ${shown(row.without)} | ${shown(row.with)}`);

const allowed: Readonly<Record<Scenario, number>> = {
  "resumed twice": 1,
  "stored arguments edited": 0,
  "approval forged": 0,
};
const wrong = rows.filter((row) => row.with !== undefined && row.with !== allowed[row.scenario]);
for (const row of wrong) console.error(`${row.library}, ${row.scenario}: ${row.with} executions with Postern`);
process.exit(wrong.length === 0 ? 0 : 1);

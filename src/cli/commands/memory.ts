import { type CandidateView, candidateStates } from "../../server/contract/memory.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { labelled, relative, table, visibleLines, whose } from "../text.ts";
import { oneOf, wholeNumber } from "./typed.ts";

interface RunFlags extends GlobalFlags {
  readonly run?: string;
}

export interface CandidateListFlags extends RunFlags {
  readonly state?: string;
  readonly limit?: string;
}

const states = [...candidateStates, "all"] as const;

export async function listCandidates(host: Host, flags: CandidateListFlags): Promise<ExitCode> {
  const state = oneOf(flags.state ?? "open", states, "--state");
  const limit = flags.limit === undefined ? {} : { limit: wholeNumber(flags.limit, "--limit") };
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const { candidates } = await work.operator.memory.candidates({
      ...(flags.run !== undefined && { run_id: flags.run }),
      ...(state !== "all" && { state }),
      ...limit,
    });
    if (work.json) printJson(work, { candidates });
    else if (candidates.length === 0)
      work.terminal.out(state === "all" ? "No candidates yet.\n" : `No candidates are ${state}.\n`);
    else work.terminal.out(candidateTable(work, candidates));
    return exitCodes.ok;
  });
}

function candidateTable({ paint, terminal, now }: Work, candidates: readonly CandidateView[]): string {
  const rows = candidates.map(({ candidate_id, state, agent, scope, run_id, proposed_at, content }) => [
    candidate_id,
    state,
    agent,
    scope,
    run_id,
    relative(Date.parse(proposed_at), now()),
    content,
  ]);
  const headings = ["CANDIDATE", "STATE", "AGENT", "SCOPE", "RUN", "PROPOSED", "CONTENT"];
  return table(headings, rows, { terminal, paint });
}

export interface CandidateDecisionFlags extends RunFlags {
  readonly reason?: string;
  readonly again?: boolean;
}

/** As the operator. An acceptance may need the servers: the provider can be one of them. */
export async function decideCandidate(
  host: Host,
  { verb, id }: { readonly verb: "accept" | "reject"; readonly id: string },
  { run, reason, again, ...flags }: CandidateDecisionFlags,
): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: verb === "accept" } }, async (work) => {
    const { memory } = work.operator;
    const sent = { id, run_id: run, reason };
    const candidate = await (verb === "accept" ? memory.accept({ ...sent, again }) : memory.reject(sent));
    if (work.json) printJson(work, candidate);
    else work.terminal.out(`${candidateCard(work, candidate)}${asTypedHere(told(candidate), work.command)}\n`);
    return candidate.state === "waiting" ? exitCodes.waiting : exitCodes.ok;
  });
}

function candidateCard(
  { paint }: Work,
  { candidate_id, agent, user, scope, tags, run_id, content }: CandidateView,
): string {
  const line = labelled(paint, 8);
  return [
    `${paint("bold", candidate_id)}\n`,
    line("agent", whose({ agent, user })),
    line("scope", scope),
    line("tags", tags.join(", ")),
    line("run", run_id),
    ...visibleLines(content).map((text) => `    ${text}\n`),
  ].join("");
}

function told({ state, approval_id }: CandidateView): string {
  if (state === "accepted") return "Accepted: it is remembered.";
  if (state === "rejected") return "Rejected: it is not remembered.";
  return `The memory server's own call waits: \`postern approvals approve ${approval_id ?? ""}\`, then accept again.`;
}

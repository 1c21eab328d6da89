import { type CandidateView, memory } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { asTypedHere } from "../command-name.ts";
import { exitCodes } from "../exit-codes.ts";
import { flagsOf, wholeNumber } from "../flags.ts";
import { ago, type Columns, inState, noRows, type Work } from "../output/print.ts";
import { labelled, visibleLines, whose } from "../output/text.ts";

const notes = {
  run_id: { name: "run", value: "id", help: "of this run; all runs when left out" },
  reason: { help: "recorded with the decision" },
} as const;

export function commands(group: CommandGroup): void {
  const candidates = group.group("candidates", "what agents proposed to remember, for you to decide");
  candidates.list("list", "what is open, of all runs", {
    isDefault: true,
    flags: flagsOf(memory.candidates.query, {
      run_id: notes.run_id,
      state: { value: "state", help: "only in this state", default: "open", all: true },
      limit: { help: "at most so many", read: wholeNumber },
    }),
    rows: "candidates",
    ask: ({ operator }, { state, ...where }) => operator.memory.candidates({ ...where, ...inState(state) }),
    columns,
    empty: ({ state }) => noRows("candidates", state),
  });
  candidates.answer("accept <id>", "write it to the memory provider, once", {
    flags: flagsOf(memory.accept.body, {
      ...notes,
      again: { help: "also when an earlier acceptance may have written it: you have looked" },
    }),
    needs: { tools: true }, // the provider may be a server
    ask: ({ operator }, sent) => operator.memory.accept(sent),
    text: decidedText,
    code: ({ state }) => (state === "waiting" ? exitCodes.waiting : exitCodes.ok),
  });
  candidates.answer("reject <id>", "it is not remembered", {
    flags: flagsOf(memory.reject.body, notes),
    ask: ({ operator }, sent) => operator.memory.reject(sent),
    text: decidedText,
  });
}

const columns: Columns<CandidateView> = {
  CANDIDATE: ({ candidate_id }) => candidate_id,
  STATE: ({ state }) => state,
  AGENT: ({ agent }) => agent,
  SCOPE: ({ scope }) => scope,
  RUN: ({ run_id }) => run_id,
  PROPOSED: ({ proposed_at }, work) => ago(proposed_at, work),
  CONTENT: ({ content }) => content,
};

function decidedText(candidate: CandidateView, { paint, command }: Work): string {
  const { candidate_id, agent, user, scope, tags, run_id, content, state, approval_id = "" } = candidate;
  const line = labelled(paint, 8);
  const result =
    state === "accepted"
      ? "Accepted: it is remembered."
      : state === "rejected"
        ? "Rejected: it is not remembered."
        : `The memory server's own call waits: \`postern approvals show ${approval_id}\` says how to approve it; then accept again.`;
  return [
    `${paint("bold", candidate_id)}\n`,
    line("agent", whose({ agent, user })),
    line("scope", scope),
    line("tags", tags.join(", ")),
    line("run", run_id),
    ...visibleLines(content).map((text) => `    ${text}\n`),
    `${asTypedHere(result, command)}\n`,
  ].join("");
}

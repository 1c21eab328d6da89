import { text as textOf } from "node:stream/consumers";
import { counted, newTraceId } from "@postern/core";
import { type CallFields, calls, type OutcomeView, type PreviewView } from "@postern/core/contract";
import { chainToolName } from "../../code-mode/names.ts";
import { createTerminalApprover } from "../approver/terminal-approver.ts";
import type { CommandGroup } from "../command.ts";
import { approveCommand, outcomeText } from "../command-name.ts";
import { type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { flagsOf, ofRun, scopeList, wholeNumber } from "../flags.ts";
import type { Host, InsideNeeds } from "../host.ts";
import { interruption, printInterruptedCall } from "../interrupted.ts";
import { cardLines, previewDetails } from "../output/card.ts";
import { type CommandInput, printJson, type Work, withPostern } from "../output/print.ts";
import { followProgress } from "../output/progress.ts";
import { visible, visibleLines } from "../output/text.ts";
import { argumentsFrom } from "./arguments.ts";

/** The caller knows the arguments; the approver is shown all of them. */
const mostCardLines = 30;
/** One request waits at most so long: proxies and clients give up on silence. The same call sent again waits on. */
const longestRequestMs = 60_000;
const defaultWaitMs = 300_000;

const claims = { idempotency_key: true, run_id: true, scopes: true, autonomy: true } as const;
const notes = {
  idempotency_key: { name: "key", value: "key", help: "idempotency key: the same key never runs twice" },
  run_id: { ...ofRun, help: "the run it belongs to" },
  scopes: scopeList,
  autonomy: { value: "level", help: "a lower level for this call only" },
} as const;
export const claimFlags = flagsOf(calls.call.body.pick(claims), notes);
export const waitOption = {
  "--wait [seconds]": "wait for a person's decision instead of leaving it pending",
} as const;

export function commands(group: CommandGroup): void {
  group.own("<tool> [arguments...]", {
    words: {
      "<tool>": "its name, as `postern tools` shows it",
      "[arguments...]": "key=value; text where the tool takes text, else JSON",
    },
    flags: flagsOf(calls.call.body.pick({ ...claims, action: true, reason: true }), {
      ...notes,
      action: { value: "name", help: "for tools with several actions" },
      reason: { help: "why you call: shown to the approver, unchecked" },
    }),
    options: {
      "--args <json>": "all arguments as one JSON object; `-` reads it from standard input",
      ...waitOption,
      "--progress": "what the tool says of its progress, also without a terminal",
    },
    run: ({ sent: { arguments: words, ...sent }, options, ...typed }) => call(typed, sent, { ...options, words }),
  });
}

interface CallOptions {
  /** JSON, or `-` for standard input: one word of a command line is limited to 128 KiB. */
  readonly args?: string;
  /** `key=value`. */
  readonly words?: readonly string[];
  /** Seconds, or `true` for five minutes. */
  readonly wait?: string | true;
  /** Print progress also without a terminal. */
  readonly progress?: true;
}

/** Calls a tool as the agent. Without `--wait` a call that needs a person stays pending. */
export function call(
  typed: CommandInput,
  sent: Omit<CallFields, "arguments">,
  { args, words = [], wait, progress }: CallOptions,
): Promise<ExitCode> {
  const { host } = typed;
  const { tool } = sent;
  const waitMs = wait === undefined ? 0 : wait === true ? defaultWaitMs : wholeNumber(wait, "--wait") * 1000;
  return withPostern(typed, wait === undefined ? { tools: true } : askingHere(host), async (work) => {
    const given = argumentsFrom(args === "-" ? await textOf(process.stdin) : args, words);
    const mayWait = work.running || host.terminal.interactive; // started inside without a terminal, no person can decide
    const whileWaiting = tool === chainToolName ? "suspend" : "wait"; // a long wait freezes a script
    const patience = wait === undefined ? "suspend" : mayWait ? whileWaiting : "deny";
    const traceId = newTraceId();
    using interrupted = interruption();
    const { signal } = interrupted;
    await using _ = await followProgress(work, { isAsked: progress === true, traceId });
    const body = { ...sent, ...given, patience, trace_id: traceId } as const;
    const outcome = await answered(work, body, { waitMs, signal }).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    if (outcome === undefined) return printInterruptedCall(work, { tool, given, traceId });
    if (work.json) printJson(work, outcome);
    else await printOutcome(work, tool, outcome);
    return exitCodeOf({ status: outcome.status, code: outcome.refusal?.code });
  });
}

/** A Postern that is started inside can ask only at this terminal. */
export function askingHere({ terminal: { interactive, colour } }: Host): InsideNeeds {
  if (!interactive) return { tools: true };
  return { tools: true, approver: createTerminalApprover(process.stdin, process.stderr, { colour }) };
}

async function answered(
  { agent, now }: Work,
  body: CallFields,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<OutcomeView> {
  const until = now() + waitMs;
  for (;;) {
    const left = Math.max(0, until - now());
    const wait = waitMs > 0 ? { approval_wait_ms: Math.min(longestRequestMs, left) } : {};
    const outcome = await agent.calls.call({ ...body, ...wait }, signal);
    if (!isOpen(outcome) || now() >= until) return outcome;
  }
}

/** Whether a person may still decide: the call was not run and is not over. */
function isOpen({ how_to_approve }: OutcomeView): boolean {
  return how_to_approve !== undefined;
}

/** The note of a replay says that the tool did not run. */
const toRunAgain = "To run it once more, give the call a key of its own: `--key KEY`.";

async function printOutcome(work: Work, tool: string, outcome: OutcomeView): Promise<void> {
  const { terminal, paint, command } = work;
  const { status, text, refusal, preview, replayed, approval_id: approvalId, notes = [] } = outcome;
  for (const note of notes) terminal.aside(`${visible(note)}\n`);
  if (status === "ok" || status === "preview") {
    terminal.out(`${terminal.screen ? visibleLines(text).join("\n") : text}\n`);
    const { diff: _, ...details }: Partial<PreviewView> = preview ?? {}; // the text has the diff
    for (const line of previewDetails(details, paint)) terminal.aside(`${line}\n`);
    const again = replayed === true && tool !== chainToolName ? [toRunAgain] : [];
    for (const line of [...artifactLines(outcome, command), ...again]) terminal.aside(`${paint("dim", line)}\n`);
    return;
  }
  const label = isOpen(outcome) ? "waits for a person" : refusal === undefined ? status : `${status}: ${refusal.code}`;
  terminal.aside(`${paint(status === "error" ? "red" : "yellow", `${visible(tool)} ${label}`)}\n`);
  if (isOpen(outcome) && approvalId !== undefined) await printPending(work, approvalId, howToGoOn(command, tool));
  else terminal.aside(`${visibleLines(outcomeText(outcome, command)).join("\n")}\n`);
  if (refusal?.code === "tool_unavailable") await printBlocked(work, tool);
}

function howToGoOn(command: string, tool: string): string {
  return tool === chainToolName
    ? `Then run the same script again, or \`${command} chain resume CALL\` (\`${command} chain list\`): it goes on where it waits.`
    : `Then send the same \`${command} call ${visible(tool)} …\` again: it runs once, exactly as shown.`;
}

/** What is stored instead of shown, and the command that prints it. */
function artifactLines({ artifact, files = [] }: OutcomeView, command: string): readonly string[] {
  const print = (digest: string): string => `\`${command} artifacts get ${digest}\` prints it`;
  return [
    ...(artifact === undefined ? [] : [`The whole result is artifact ${artifact}: ${print(artifact)}.`]),
    ...files.map((file) => `${visible(file.media_type)} is artifact ${file.artifact}: ${print(file.artifact)}.`),
  ];
}

/** A tool whose definition changed waits for an operator. */
async function printBlocked({ agent, terminal, command }: Work, tool: string): Promise<void> {
  const { actions } = await agent.tools.show({ name: tool }).catch(() => ({ actions: [] })); // it is hidden from this agent
  if (!actions.some(({ blocked }) => blocked === "changed" || blocked === "new")) return;
  terminal.aside(
    `Look at it:  ${command} tools diff ${visible(tool)}\nTrust it:    ${command} tools approve ${visible(tool)}\n`,
  );
}

/** @param next what the caller does after the decision */
export async function printPending(
  { agent, terminal, paint, now, command, running, url }: Work,
  approvalId: string,
  next: string,
): Promise<void> {
  const { viewer: _, ...request } = await agent.approvals.show({ id: approvalId }); // the agent is not the approver
  const lines = cardLines(request, now(), { paint, terminal });
  const rest = lines.length - mostCardLines;
  const more = `… and ${counted(rest, "more line")}: \`${command} approvals show ${approvalId}\` has them all.\n`;
  terminal.aside(
    [
      `\n${lines.slice(0, mostCardLines).join("\n")}\n`,
      rest > 0 ? more : "",
      `\nDecide:  ${approveCommand(request, command)}\n`,
      `         ${command} approvals deny ${approvalId} --reason "…"\n`,
      running ? `         ${url}/approvals/${approvalId}\n` : "",
      `${next}\n`,
    ].join(""),
  );
}

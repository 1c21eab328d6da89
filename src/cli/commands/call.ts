import { text as textOf } from "node:stream/consumers";
import { chainToolName } from "../../code-mode/names.ts";
import { newTraceId } from "../../core/ids.ts";
import type { JsonObject } from "../../core/json.ts";
import { autonomies } from "../../core/risk.ts";
import { counted } from "../../core/shown.ts";
import { ClientProblem } from "../../server/client/client.ts";
import type { CallFields } from "../../server/contract/calls.ts";
import type { OutcomeView, PreviewView } from "../../server/contract/outcome.ts";
import { cardLines, previewDetails } from "../card.ts";
import { outcomeText } from "../command-name.ts";
import { type ExitCode, exitCodeOf } from "../exit-codes.ts";
import type { GlobalFlags, Host, InsideNeeds } from "../host.ts";
import { interruption, tellInterrupted } from "../interrupted.ts";
import { followProgress } from "../progress.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { visible, visibleLines } from "../text.ts";
import { argumentsFrom } from "./arguments.ts";
import { oneOf, wholeNumber } from "./typed.ts";

/** Whoever sent it knows what it says. Who decides is shown all of it. */
const mostCardLines = 30;

export interface CallFlags extends GlobalFlags {
  readonly action?: string;
  /** JSON, or `-` for standard input: one word of a command line is limited to 128 KiB. */
  readonly args?: string;
  readonly key?: string;
  /** Why: the caller's own word. */
  readonly reason?: string;
  readonly run?: string;
  readonly scopes?: string;
  readonly autonomy?: string;
  /** Seconds, or `true` for five minutes. */
  readonly wait?: string | true;
  /** Tell progress also where no terminal is. */
  readonly progress?: boolean;
}

/** A request holds the line for so long at most: proxies and clients give up on silence. The same call sent again waits on. */
const holdMs = 60_000;

/** Calls a tool as the agent. Without `--wait` a call that needs a person is left pending, and this says how to go on. */
export async function call(
  host: Host,
  { tool, words }: { readonly tool: string; readonly words: readonly string[] },
  flags: CallFlags,
): Promise<ExitCode> {
  const waitMs =
    flags.wait === undefined ? 0 : flags.wait === true ? 300_000 : wholeNumber(flags.wait, "--wait") * 1000;
  const autonomy =
    flags.autonomy === undefined ? undefined : oneOf(flags.autonomy.toUpperCase(), autonomies, "--autonomy");
  const needs = flags.wait === undefined ? { tools: true } : await askingHere(host);
  return withPostern({ host, flags, needs }, async (work) => {
    const schema = words.length === 0 ? undefined : await schemaOf(work.agent, tool, flags.action);
    const given = flags.args === "-" ? await textOf(process.stdin) : flags.args;
    const body = { ...requestBody(tool, flags), arguments: argumentsFrom(given, words, schema), autonomy };
    // Started inside without a terminal there is nobody who could ever decide while it waits.
    const holding = tool === chainToolName ? "suspend" : "wait"; // a script that was held long enough is put away, and goes on
    const patience =
      flags.wait === undefined ? "suspend" : work.running || host.terminal.interactive ? holding : "deny";
    const traceId = newTraceId();
    using interrupted = interruption();
    await using _progress = await followProgress(host, work, { isAsked: flags.progress === true, traceId });
    const { signal } = interrupted;
    const outcome = await answered(work, { ...body, patience, trace_id: traceId }, { waitMs, signal }).catch(
      (error: unknown) => {
        if (signal.aborted) return undefined;
        throw error;
      },
    );
    if (outcome === undefined) return tellInterrupted(work, { tool, arguments: body.arguments, traceId }, host.clock);
    if (work.json) printJson(work, outcome);
    else await show(work, tool, outcome);
    return exitCodeOf({ status: outcome.status, code: outcome.refusal?.code });
  });
}

/** Started inside, this terminal is the only one who can be asked: nobody else could decide while the store is ours. */
export async function askingHere(host: Host): Promise<InsideNeeds> {
  if (!host.terminal.interactive) return { tools: true };
  const { createTerminalApprover } = await import("../terminal-approver.ts");
  return {
    tools: true,
    approver: createTerminalApprover(process.stdin, process.stderr, { colour: host.terminal.colour }),
  };
}

function requestBody(tool: string, flags: CallFlags): Omit<CallFields, "arguments" | "autonomy"> {
  const { action, key, reason, run, scopes } = flags;
  return {
    ...{ tool, action, reason },
    idempotency_key: key,
    run_id: run,
    scopes: scopes?.split(",").map((scope) => scope.trim()),
  };
}

/** A tool that is not there has no schema; the call itself says so better. */
export async function schemaOf(
  client: Work["agent"],
  tool: string,
  action = "default",
): Promise<JsonObject | undefined> {
  try {
    const { actions } = await client.tools.show({ name: tool });
    return actions.find((one) => one.action === action)?.input_schema;
  } catch (error) {
    if (error instanceof ClientProblem && error.status === 404) return undefined;
    throw error;
  }
}

async function answered(
  { agent, now }: Work,
  body: CallFields,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<OutcomeView> {
  const until = now() + waitMs;
  for (;;) {
    const left = Math.max(0, until - now());
    const wait = waitMs > 0 ? { approval_wait_ms: Math.min(holdMs, left) } : {};
    const outcome = await agent.calls.call({ ...body, ...wait }, signal);
    if (!isOpen(outcome) || now() >= until) return outcome;
  }
}

/** A request is open: the call was not run and is not over, also when our wait for it is. */
function isOpen({ how_to_approve }: OutcomeView): boolean {
  return how_to_approve !== undefined;
}

async function show(work: Work, tool: string, outcome: OutcomeView): Promise<void> {
  const { terminal, paint } = work;
  const { status, text, refusal } = outcome;
  if (status === "ok" || status === "preview") {
    terminal.out(`${terminal.screen ? visibleLines(text).join("\n") : text}\n`);
    for (const line of outcome.preview === undefined ? [] : previewDetails(withoutDiff(outcome.preview), paint))
      terminal.aside(`${line}\n`);
    for (const line of keptLines(outcome, work.command)) terminal.aside(`${paint("dim", line)}\n`);
    if (outcome.replayed === true)
      terminal.aside(`${paint("dim", "Not run again: this is what the same call ended with before.")}\n`);
    return;
  }
  const label = isOpen(outcome) ? "waits for a person" : refusal === undefined ? status : `${status}: ${refusal.code}`;
  terminal.aside(`${paint(status === "error" ? "red" : "yellow", `${visible(tool)} ${label}`)}\n`);
  if (isOpen(outcome) && outcome.approval_id !== undefined)
    await showPending(work, outcome.approval_id, againText(work.command, tool));
  else terminal.aside(`${visibleLines(outcomeText(outcome, work.command)).join("\n")}\n`);
  if (refusal?.code === "tool_unavailable") await showBlocked(work, tool);
}

function againText(command: string, tool: string): string {
  return tool === chainToolName
    ? `Then run the same script again, or \`${command} chain resume CALL\` (\`${command} chain list\`): it goes on where it waits.`
    : `Then send the same \`${command} call ${visible(tool)} …\` again: it runs once, exactly as shown.`;
}

/** The diff stands in the text. */
function withoutDiff({ diff: _, ...preview }: PreviewView): PreviewView {
  return preview;
}

/** What is kept instead of shown, and how a person prints it. */
function keptLines({ artifact, files = [] }: OutcomeView, command: string): readonly string[] {
  const print = (digest: string): string => `\`${command} artifacts get ${digest}\` prints it`;
  return [
    ...(artifact === undefined ? [] : [`The whole result is artifact ${artifact}: ${print(artifact)}.`]),
    ...files.map((file) => `${visible(file.media_type)} is artifact ${file.artifact}: ${print(file.artifact)}.`),
  ];
}

/** A tool whose definition changed waits for an operator, who reads here how to look at it. */
async function showBlocked({ agent, terminal, command }: Work, tool: string): Promise<void> {
  const { actions } = await agent.tools.show({ name: tool }).catch(() => ({ actions: [] })); // it is hidden from this agent: there is no more to say
  if (!actions.some(({ blocked }) => blocked === "changed" || blocked === "new")) return;
  terminal.aside(
    `Look at it:  ${command} tools diff ${visible(tool)}\nTrust it:    ${command} tools approve ${visible(tool)}\n`,
  );
}

/** @param again how the caller goes on after the decision */
export async function showPending(
  { agent, terminal, paint, now, command, running, url }: Work,
  approvalId: string,
  again: string,
): Promise<void> {
  const { viewer: _, ...request } = await agent.approvals.show({ id: approvalId }); // what the agent may say is not for who decides
  const lines = cardLines(request, now(), { paint, terminal });
  const rest = lines.length - mostCardLines;
  terminal.aside(`\n${lines.slice(0, mostCardLines).join("\n")}\n`);
  if (rest > 0)
    terminal.aside(`… and ${counted(rest, "more line")}: \`${command} approvals show ${approvalId}\` has them all.\n`);
  terminal.aside("\n");
  terminal.aside(
    `Decide:  ${command} approvals approve ${approvalId}\n         ${command} approvals deny ${approvalId} --reason "…"\n`,
  );
  if (running) terminal.aside(`         ${url}/approvals/${approvalId}\n`);
  terminal.aside(`${again}\n`);
}

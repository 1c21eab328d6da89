import type { CallView, OutcomeView, TimelineCall } from "@postern/core/contract";
import type { ReactNode } from "react";
import { refusalText, useAnswer, useMay } from "../api/index.ts";
import {
  Copy,
  duration,
  Json,
  mostInControl,
  NotYet,
  Part,
  Preformatted,
  Text,
  TextActions,
  TextLink,
} from "../kit/index.ts";

/** As a call is named on all screens. */
export function callStateOf({ state, outcome, durations }: CallView): string {
  if (state === "held" && durations.waiting_ms !== undefined) return "ready"; // a person has decided
  return outcome?.refusal?.code === "timed_out" ? "timeout" : state;
}

type CallLinksProps = Readonly<{
  call: Pick<CallView, "call_id" | "tool" | "action"> & { readonly key?: string | undefined };
}>;

/** Where a recorded call leads. */
export function CallLinks({ call: { call_id: id, key = id, tool, action } }: CallLinksProps): ReactNode {
  const may = useMay();
  return (
    <>
      {may("audit:read") && (
        <TextLink to="/audit/{-$event}" params={{ event: undefined }} search={{ call_id: key }}>
          Its events in the audit log
        </TextLink>
      )}
      {may("policy:read") && (
        <TextLink to="/policy/{-$tab}" params={{ tab: undefined }} search={{ call: id }}>
          Explain it by today's policy
        </TextLink>
      )}
      {may("calls:make") && (
        <TextLink to="/tools/{-$tool}" params={{ tool }} search={{ tab: "try", action, again: id }}>
          Call again with these
        </TextLink>
      )}
    </>
  );
}

type CallContentProps = Readonly<{
  /** Id or key. */
  callId: string;
  /** A row has the refusal beside it, the card of a request has the arguments. */
  on: "row" | "card";
}>;

/** What a call was given, what came of it, and where its time went. It is read when it is shown. */
export function CallContent({ callId, on }: CallContentProps): ReactNode {
  const { data, error, refetch } = useAnswer("GET /v1/calls/{id}", { id: callId });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={3} />;
  const { outcome, durations } = data;
  return (
    <>
      {on === "row" && <CallInput call={data} />}
      {on === "card" && outcome?.refusal !== undefined && <RefusalLine {...outcome.refusal} />}
      {outcome !== undefined && <Result outcome={outcome} />}
      <Durations of={durations} />
    </>
  );
}

function CallInput({ call }: { readonly call: CallView }): ReactNode {
  const curl = curlOf(call, location.origin);
  return (
    <Part
      label="Input"
      aside={
        <span className="flex items-center gap-1 text-ink-2">
          {curl.length <= mostInControl && <Copy text={curl} label="Copy as curl" word="curl" />}
          <TextActions text={JSON.stringify(call.arguments, null, 2)} what="the input" fileName="input.json" />
        </span>
      }
    >
      <Json value={call.arguments} />
    </Part>
  );
}

/**
 * A command that makes the same call with the token in `$POSTERN_TOKEN`. Everything but printable ASCII is escaped, and
 * so is the quote: no character ends the quoted text, and none acts on the terminal.
 */
export function curlOf({ tool, action, arguments: given }: CallView, origin: string): string {
  const body = JSON.stringify({ tool, action, arguments: given }).replaceAll(
    /[^ -~]|'/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const headers = `-H "Authorization: Bearer $POSTERN_TOKEN" -H 'Content-Type: application/json'`;
  return `curl -sS '${origin}/v1/calls' ${headers} --data-raw '${body}'`;
}

/** Text and structure of a call that was not refused. */
export function Result({ outcome }: { readonly outcome: OutcomeView }): ReactNode {
  const { status, refusal, text, structured, content } = outcome;
  if (refusal !== undefined || status === "pending") return null;
  const isRepeated = structured !== undefined && isTextOf(structured, text);
  const other = content.filter(({ type }) => type !== "text");
  const all = text === "" ? JSON.stringify(structured ?? content, null, 2) : text;
  const isNothing = text === "" && structured === undefined && other.length === 0;
  return (
    <Part
      label="Result"
      aside={
        !isNothing && (
          <span className="flex items-center gap-1 text-ink-2">
            <TextActions text={all} what="the result" fileName="result.txt" />
          </span>
        )
      }
    >
      {isNothing && <p className="text-ink-3">Nothing: the tool returned no text.</p>}
      {text !== "" && !isRepeated && (
        <Preformatted label="Text of the result" lines>
          {text}
        </Preformatted>
      )}
      {structured !== undefined && <Json value={structured} />}
      {other.length > 0 && <Json value={other} />}
    </Part>
  );
}

/** Most tools with a structured result return the same as text. */
function isTextOf(structured: unknown, text: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(structured);
  } catch {
    return false; // other text: both are shown
  }
}

/** Why a call did not run or failed. */
export function RefusalLine({ code, message }: Readonly<{ code: string | undefined; message: string }>): ReactNode {
  return (
    <p>
      <span className="mono mr-2 text-ink-3">{code}</span>
      <Text>{refusalText(code, message)}</Text>
    </p>
  );
}

/** A part that is missing has not ended, or there was none. */
export function Durations({ of }: { readonly of: TimelineCall["durations"] }): ReactNode {
  const { gate_ms: gate, waiting_ms: waiting, tool_ms: tool } = of;
  const parts = [
    gate !== undefined && `gate ${duration(gate)}`,
    waiting !== undefined && `waited ${duration(waiting)}`,
    tool !== undefined && `tool ${duration(tool)}`,
  ].filter((part) => part !== false);
  return parts.length > 0 && <p className="tabular text-ink-2">{parts.join(" · ")}</p>;
}

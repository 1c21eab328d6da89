import { Link } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import type { OutcomeView } from "../../../../src/server/contract/outcome.ts";
import type { ToolView as ToolAction } from "../../../../src/server/contract/tools.ts";
import { request } from "../../api/client.ts";
import { Problem } from "../../api/problem.ts";
import { refusalText } from "../../api/typed.ts";
import { ArgumentsForm } from "../../kit/arguments-form.tsx";
import { StateBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { Part } from "../../kit/card.tsx";
import { Hash } from "../../kit/copy.tsx";
import { enteredOf, type Fields, readEntered } from "../../kit/entered.ts";
import { Json } from "../../kit/json.tsx";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { useFeed } from "../../live/feed.ts";
import { ProgressLine } from "../progress-line.tsx";

/** An ordinary call, by the person who is signed in: it passes every gate, and is in the log like any other. */
export function TryTab({ action }: { readonly action: ToolAction }): ReactNode {
  const [entered, setEntered] = useState(() => enteredOf({}));
  const [outcome, setOutcome] = useState<OutcomeView | Error>();
  const [isBusy, setIsBusy] = useState(false);
  const { callId, follow } = useFollowed();
  const read = readEntered(entered);
  const call = async (): Promise<void> => {
    if ("problem" in read) return;
    setIsBusy(true);
    setOutcome(await called(action, { given: read.value, traceId: follow() }));
    setIsBusy(false);
  };
  return (
    <div className="grid gap-5">
      <Notice tone="accent">
        This is a real call in your name. It passes every gate and is written into the audit log; if policy wants a
        person, another one must approve it.
      </Notice>
      <ArgumentsForm label="Arguments" schema={action.input_schema} entered={entered} onChange={setEntered} />
      <div>
        <Button look="primary" icon="play" busy={isBusy} disabled={"problem" in read} onClick={() => void call()}>
          Call it
        </Button>
      </div>
      {isBusy && callId !== undefined && <ProgressLine callId={callId} tool={action.tool} />}
      {outcome !== undefined && !isBusy && <ShownOutcome outcome={outcome} />}
    </div>
  );
}

/** A call is known by its trace until its outcome tells its id. */
function useFollowed(): { readonly callId: string | undefined; readonly follow: () => string } {
  const traceId = useRef<string>(undefined);
  const [callId, setCallId] = useState<string>();
  useFeed(
    ({ trace_id, call_id }) => {
      if (call_id !== undefined && trace_id === traceId.current) setCallId(call_id);
    },
    () => undefined,
  );
  const follow = (): string => {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    traceId.current = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    setCallId(undefined);
    return traceId.current;
  };
  return { callId, follow };
}

function ShownOutcome({ outcome }: { readonly outcome: OutcomeView | Error }): ReactNode {
  if (outcome instanceof Error)
    return (
      <Notice>
        <Text>{outcome.message}</Text>
      </Notice>
    );
  return (
    <Part label="Outcome" aside={<StateBadge state={outcome.status} />}>
      {outcome.refusal !== undefined && (
        <p>
          <span className="mono mr-2 text-ink-3">{outcome.refusal.code}</span>
          <Text>{refusalText(outcome.refusal.code, outcome.refusal.message)}</Text>
        </p>
      )}
      {outcome.approval_id !== undefined && outcome.status === "pending" && (
        <p>
          It waits for a person:{" "}
          <Link to={`/approvals/${outcome.approval_id}`} className="text-accent underline">
            the request
          </Link>
        </p>
      )}
      {outcome.text !== "" && outcome.refusal === undefined && (
        <pre className="mono max-h-96 overflow-auto rounded-md bg-sunken px-3 py-2 whitespace-pre-wrap">
          <Text lines>{outcome.text}</Text>
        </pre>
      )}
      {outcome.structured !== undefined && <Json value={outcome.structured} />}
      <p className="text-ink-3">
        Call <Hash value={outcome.call_id} label="call id" />
      </p>
    </Part>
  );
}

/** A refused call is an answer too: its body is the outcome, whatever the number says. */
async function called(
  { tool, action }: ToolAction,
  { given, traceId }: { readonly given: Fields; readonly traceId: string },
): Promise<OutcomeView | Error> {
  const body = { tool, action, arguments: given, patience: "suspend", trace_id: traceId };
  try {
    return await request<OutcomeView>("POST", "/v1/calls", { body });
  } catch (error) {
    const sent = error instanceof Problem ? error.body : undefined;
    if (typeof sent === "object" && sent !== null && "call_id" in sent) return sent as OutcomeView; // an outcome has a call id, a problem has none
    return error instanceof Error ? error : new Error(String(error));
  }
}

import type { JsonObject } from "@postern/core";
import type { OutcomeView, ToolView as ToolAction } from "@postern/core/contract";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { ask, Problem, sentenceOf, useAnswer } from "../../api/index.ts";
import {
  ArgumentsForm,
  Button,
  ErrorNotice,
  enteredOf,
  Hash,
  hex,
  Notice,
  NotYet,
  Part,
  readEntered,
  StateBadge,
  TextLink,
} from "../../kit/index.ts";
import { useFeed } from "../../live/feed.ts";
import { RefusalLine, Result } from "../call-content.tsx";
import { ProgressLine } from "../progress-line.tsx";

const route = getRouteApi("/tools/{-$tool}");

/** A real call by the person who is signed in: it passes every gate, and is in the log like any other. */
export function TryTab({ action }: { readonly action: ToolAction }): ReactNode {
  const { again: id } = route.useSearch();
  const { data, error, refetch } = useAnswer("GET /v1/calls/{id}", { id: id ?? "" }, { enabled: id !== undefined });
  if (id === undefined) return <Try action={action} given={{}} />;
  if (data === undefined) return <NotYet error={error} again={refetch} rows={3} />;
  return (
    <div className="grid gap-3">
      <p>
        Filled in with the input of{" "}
        <TextLink to="/calls/{-$call}" params={{ call: data.call_id }}>
          an earlier call
        </TextLink>
        . Known secrets are not in it.
      </p>
      <Try key={id} action={action} given={data.arguments} />
    </div>
  );
}

function Try({ action, given }: Readonly<{ action: ToolAction; given: JsonObject }>): ReactNode {
  const [entered, setEntered] = useState(() => enteredOf(given));
  const [outcome, setOutcome] = useState<OutcomeView | string>();
  const [isBusy, setIsBusy] = useState(false);
  const { callId, follow } = useFollowed();
  const read = readEntered(entered);
  const call = async (): Promise<void> => {
    if ("problem" in read) return;
    setIsBusy(true);
    setOutcome(await callTool(action, read.value, follow()));
    setIsBusy(false);
  };
  return (
    <div className="grid gap-5">
      <Notice tone="accent">
        This is a real call in your name. It passes every gate and is written into the audit log. If the policy asks for
        approval, another person must approve it.
      </Notice>
      <ArgumentsForm label="Arguments" schema={action.input_schema} entered={entered} onChange={setEntered} />
      <div>
        <Button look="primary" icon="play" busy={isBusy} disabled={"problem" in read} onClick={() => void call()}>
          Call it
        </Button>
      </div>
      {isBusy && callId !== undefined && <ProgressLine callId={callId} tool={action.tool} />}
      {!isBusy && typeof outcome === "string" && <ErrorNotice>{outcome}</ErrorNotice>}
      {!isBusy && typeof outcome === "object" && <Outcome outcome={outcome} />}
    </div>
  );
}

/** The call is known by its trace until its outcome has its id. */
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
    traceId.current = hex(crypto.getRandomValues(new Uint8Array(16)));
    setCallId(undefined);
    return traceId.current;
  };
  return { callId, follow };
}

function Outcome({ outcome }: { readonly outcome: OutcomeView }): ReactNode {
  const { status, refusal, approval_id, call_id } = outcome;
  return (
    <Part label="Outcome" aside={<StateBadge state={status} />}>
      {refusal !== undefined && <RefusalLine {...refusal} />}
      {approval_id !== undefined && status === "pending" && (
        <p>
          It waits for approval:{" "}
          <TextLink to="/approvals/{-$request}" params={{ request: approval_id }}>
            the request
          </TextLink>
        </p>
      )}
      <Result outcome={outcome} />
      <p className="text-ink-3">
        <TextLink to="/calls/{-$call}" params={{ call: call_id }}>
          The call
        </TextLink>{" "}
        <Hash value={call_id} label="call id" />
      </p>
    </Part>
  );
}

/** A refused call has an outcome too, as the body of the refusal. Returns a sentence when there is none. */
async function callTool(
  { tool, action }: ToolAction,
  given: JsonObject,
  traceId: string,
): Promise<OutcomeView | string> {
  try {
    return await ask("POST /v1/calls", { tool, action, arguments: given, patience: "suspend", trace_id: traceId });
  } catch (error) {
    const body = error instanceof Problem ? error.body : undefined;
    const isOutcome = typeof body === "object" && body !== null && "call_id" in body; // a problem has no call id
    return isOutcome ? (body as OutcomeView) : sentenceOf(error);
  }
}

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import type { CallView } from "../../../../src/server/contract/calls.ts";
import type { ExplanationView } from "../../../../src/server/contract/policy.ts";
import { get, post } from "../../api/client.ts";
import { refusalText } from "../../api/typed.ts";
import { RiskBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Hash } from "../../kit/copy.tsx";
import { readObject } from "../../kit/json-text.ts";
import { EmptyState, Notice, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { CallFields, PastCalls } from "./call-fields.tsx";
import { bodyFrom, emptyCall, type TypedCall, typedFrom } from "./typed-call.ts";
import { Decision, Verdict } from "./verdict.tsx";

/** A recorded call is asked about by its id, with the authority it had; one that was typed or changed, by what is typed. */
type Asked = { readonly callId: string } | { readonly typed: TypedCall };

/** What would be decided about a call, a past one or one that is typed. Nothing is run. */
export function ExplainTab({ pastCall }: { readonly pastCall: string | undefined }): ReactNode {
  const [typed, setTyped] = useState(emptyCall);
  const [asked, setAsked] = useState<Asked>();
  const choose = (call: CallView): void => {
    setTyped(typedFrom(call));
    setAsked({ callId: call.call_id });
  };
  const problem = usePastCall(pastCall, choose);
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <Card title="The call">
        <form
          className="grid gap-3 p-4"
          onSubmit={(event) => {
            event.preventDefault();
            setAsked({ typed });
          }}
        >
          <PastCalls onChoose={choose} />
          {problem !== undefined && (
            <Notice>
              <Text>{problem}</Text>
            </Notice>
          )}
          <CallFields typed={typed} onChange={setTyped} />
          <div>
            <Button
              type="submit"
              look="primary"
              disabled={typed.tool === "" || "problem" in readObject(typed.arguments)}
            >
              Explain
            </Button>
          </div>
        </form>
      </Card>
      <Card title="What is decided, and why">
        {asked === undefined ? (
          <EmptyState icon="policy" title="Choose or type a call">
            Every rule that takes part is shown in its order, with its line.
          </EmptyState>
        ) : (
          <Explained asked={asked} />
        )}
      </Card>
    </div>
  );
}

/** The call that the address names, once it is there; or why it is not. */
function usePastCall(id: string | undefined, onFound: (call: CallView) => void): string | undefined {
  const { data, error } = useQuery({
    queryKey: ["call", id],
    queryFn: () => get<CallView>(`/v1/calls/${encodeURIComponent(id ?? "")}`),
    enabled: id !== undefined,
  });
  // It is filled in when it comes, not whenever the page is drawn: what was typed since stays.
  useEffect(() => {
    if (data !== undefined) onFound(data);
  }, [data]);
  return error?.message;
}

function Explained({ asked }: { readonly asked: Asked }): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["explain", asked],
    queryFn: () =>
      "callId" in asked
        ? get<ExplanationView>(`/v1/calls/${encodeURIComponent(asked.callId)}/explanation`)
        : post<ExplanationView>("/v1/policy/explain", bodyFrom(asked.typed)),
    staleTime: 0,
  });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={4} />;
  const { decision, recorded } = data;
  const refusal = data.reached === "refused" ? data.refusal : undefined;
  const summary = data.reached === "verdict" ? data.summary : undefined;
  return (
    <div className="grid gap-3 p-4">
      {refusal !== undefined && (
        <Notice>
          <p className="font-medium">It does not get as far as running.</p>
          <Text>{refusalText(refusal.code, refusal.message)}</Text>
        </Notice>
      )}
      {recorded !== undefined && <Recorded recorded={recorded} />}
      {summary !== undefined && <Text>{summary}</Text>}
      {decision !== undefined && <Decision decision={decision} />}
      {decision !== undefined && (
        <p className="text-ink-3">
          Policy <span className="mono">{decision.policy_version.slice(0, 16)}</span>, as it is in force now
        </p>
      )}
    </div>
  );
}

/** What of a past call is explained here, and how it was weighed when it began. */
function Recorded({ recorded: { edited, weighed } }: Pick<Required<ExplanationView>, "recorded">): ReactNode {
  return (
    <>
      {edited !== undefined && (
        <Notice tone="medium">
          A person changed its arguments. Explained is what runs, <Hash value={edited.digest} label="what runs" />, and
          not what was sent, <Hash value={edited.asked_digest} label="what was sent" />.
        </Notice>
      )}
      {weighed !== undefined && (
        <p className="flex flex-wrap items-center gap-2 text-ink-2">
          Recorded <Time at={weighed.at} />: <Verdict verdict={weighed.verdict} /> <RiskBadge risk={weighed.risk} />
          {weighed.grant_id !== undefined && (
            <>
              by grant <Text className="mono">{weighed.grant_id}</Text>
            </>
          )}
        </p>
      )}
    </>
  );
}

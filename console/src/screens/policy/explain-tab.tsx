import { autonomies } from "@postern/core";
import type { CallView, ExplanationView } from "@postern/core/contract";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { ask, refusalText, type Sent, useAnswer } from "../../api/index.ts";
import {
  Button,
  Card,
  EmptyState,
  ErrorNotice,
  Hash,
  Notice,
  NotYet,
  type Options,
  RiskBadge,
  readObject,
  SelectField,
  Text,
  TextField,
  Time,
} from "../../kit/index.ts";
import { Decision, Verdict } from "./verdict.tsx";

/** A call in the form. All is text; what is empty is the default. */
const emptyCall = {
  tool: "",
  action: "default",
  agent: "local-agent",
  user: "",
  /** Separated by commas. Empty: all that the tool needs. */
  scopes: "",
  autonomy: "",
  run_id: "",
  arguments: "{}",
};
type TypedCall = Readonly<typeof emptyCall>;

function typedFrom({ tool, action, requested_by, autonomy_level, run_id, arguments: given }: CallView): TypedCall {
  const { agent, user = "" } = requested_by;
  const text = JSON.stringify(given, null, 2);
  return { ...emptyCall, tool, action, agent, user, autonomy: autonomy_level ?? "", run_id, arguments: text };
}

function sentFrom({ scopes, arguments: given, ...typed }: TypedCall) {
  const read = readObject(given);
  const names = scopes.split(",").map((scope) => scope.trim());
  return {
    agent: emptyCall.agent,
    ...Object.fromEntries(Object.entries(typed).filter(([, text]) => text !== "")),
    arguments: "value" in read ? read.value : {}, // a form with a problem is not sent
    ...(scopes.trim() !== "" && { scopes: names.filter((scope) => scope !== "") }),
  } as Sent<"POST /v1/policy/explain">; // the tool is there, and the autonomy is one of the options
}

/** A recorded call is explained by its id, with the authority that it had. A typed or changed one is sent as typed. */
type Asked = { readonly callId: string } | { readonly typed: TypedCall };

/** What the policy decides about a call. Nothing is run. */
export function ExplainTab({ pastCall }: { readonly pastCall: string | undefined }): ReactNode {
  const [typed, setTyped] = useState(emptyCall);
  const [asked, setAsked] = useState<Asked>();
  const { data, error } = useQuery({
    queryKey: ["call", pastCall],
    queryFn: ({ signal }) => ask("GET /v1/calls/{id}", { id: pastCall ?? "" }, signal),
    enabled: pastCall !== undefined,
  });
  useEffect(() => {
    if (data === undefined) return;
    setTyped(typedFrom(data));
    setAsked({ callId: data.call_id });
  }, [data]); // once, when it comes: what is typed later stays
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setAsked({ typed });
  };
  const isReady = typed.tool !== "" && !("problem" in readObject(typed.arguments));
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <Card title="The call">
        <form className="grid gap-3 p-4" onSubmit={submit}>
          <ErrorNotice>{error?.message}</ErrorNotice>
          <CallFields typed={typed} onChange={setTyped} />
          <div>
            <Button type="submit" look="primary" disabled={!isReady}>
              Explain
            </Button>
          </div>
        </form>
      </Card>
      <Card title="What is decided, and why">
        {asked === undefined ? (
          <EmptyState icon="policy" title="Type a call">
            Every rule that applies is shown in its order, with its line. A call of the past has a link to here.
          </EmptyState>
        ) : (
          <Explained asked={asked} />
        )}
      </Card>
    </div>
  );
}

const fields = [
  ["action", "Action"],
  ["agent", "Agent"],
  ["user", "User behind it"],
  ["scopes", "Scopes (empty: all it needs)"],
] as const;

type CallFieldsProps = Readonly<{ typed: TypedCall; onChange: (typed: TypedCall) => void }>;

function CallFields({ typed, onChange }: CallFieldsProps): ReactNode {
  const { data } = useAnswer("GET /v1/tools", {});
  const tools = [...new Set(data?.tools.map(({ tool }) => tool))];
  const chooseTool = (tool: string): void => {
    const action = data?.tools.find((one) => one.tool === tool)?.action ?? typed.action;
    onChange({ ...typed, tool, action });
  };
  const read = readObject(typed.arguments);
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField label="Tool" list="policy-tools" value={typed.tool} onChange={chooseTool} />
        <datalist id="policy-tools">
          {tools.map((tool) => (
            <option key={tool} value={tool} />
          ))}
        </datalist>
        {fields.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            value={typed[name]}
            onChange={(text) => onChange({ ...typed, [name]: text })}
          />
        ))}
        <AutonomyField value={typed.autonomy} onChange={(autonomy) => onChange({ ...typed, autonomy })} />
      </div>
      <TextField
        label="Arguments"
        error={"problem" in read ? read.problem : undefined}
        mono
        rows={8}
        value={typed.arguments}
        onChange={(text) => onChange({ ...typed, arguments: text })}
      />
    </>
  );
}

const levels: Options = [["", "current level"], ...autonomies.map((level) => [level, level] as const)];

type AutonomyFieldProps = Readonly<{ value: string; onChange: (value: string) => void }>;

export function AutonomyField({ value, onChange }: AutonomyFieldProps): ReactNode {
  return <SelectField label="Autonomy" value={value} options={levels} onChange={onChange} />;
}

function Explained({ asked }: { readonly asked: Asked }): ReactNode {
  const { data, error, refetch } = useQuery<ExplanationView>({
    queryKey: ["explain", asked],
    queryFn: () =>
      "callId" in asked
        ? ask("GET /v1/calls/{id}/explanation", { id: asked.callId })
        : ask("POST /v1/policy/explain", sentFrom(asked.typed)),
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
          <p className="font-medium">It is refused before it can run.</p>
          <Text>{refusalText(refusal.code, refusal.message)}</Text>
        </Notice>
      )}
      {recorded !== undefined && <Recorded recorded={recorded} />}
      {summary !== undefined && <Text>{summary}</Text>}
      {decision !== undefined && (
        <>
          <Decision decision={decision} />
          <p className="text-ink-3">
            Policy <span className="mono">{decision.policy_version.slice(0, 16)}</span>, as it is now
          </p>
        </>
      )}
    </div>
  );
}

/** Which version of a past call is explained, and the verdict when it began. */
function Recorded({ recorded: { edited, weighed } }: Pick<Required<ExplanationView>, "recorded">): ReactNode {
  return (
    <>
      {edited !== undefined && (
        <Notice tone="medium">
          A person edited its arguments. This explains what runs, <Hash value={edited.digest} label="what runs" />, not
          what was sent, <Hash value={edited.asked_digest} label="what was sent" />.
        </Notice>
      )}
      {weighed !== undefined && (
        <p className="flex flex-wrap items-center gap-2 text-ink-2">
          Recorded <Time at={weighed.at} />: <Verdict verdict={weighed.verdict} /> <RiskBadge risk={weighed.risk} />
          {weighed.grant_id !== undefined && <Text className="mono">{`by grant ${weighed.grant_id}`}</Text>}
        </p>
      )}
    </>
  );
}

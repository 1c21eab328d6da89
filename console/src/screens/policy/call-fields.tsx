import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { spelledOut } from "../../../../src/core/system/card-text.ts";
import type { CallView } from "../../../../src/server/contract/calls.ts";
import type { ToolView } from "../../../../src/server/contract/tools.ts";
import { get } from "../../api/client.ts";
import { Field } from "../../kit/field.tsx";
import { readObject } from "../../kit/json-text.ts";
import type { TypedCall } from "./typed-call.ts";

/** The last calls, to choose one. */
export function PastCalls({ onChoose }: { readonly onChoose: (call: CallView) => void }): ReactNode {
  const { data } = useQuery({
    queryKey: ["live", "calls", "last"],
    queryFn: () => get<{ readonly calls: readonly CallView[] }>("/v1/calls", { query: { limit: 50 } }),
  });
  if (data === undefined || data.calls.length === 0) return null;
  const choose = (id: string): void => {
    const chosen = data.calls.find(({ call_id }) => call_id === id);
    if (chosen !== undefined) onChoose(chosen);
  };
  return (
    <Field label="A past call">
      {(wired) => (
        <select {...wired} className="input" value="" onChange={({ target }) => choose(target.value)}>
          <option value="">Choose one of the last {data.calls.length}</option>
          {data.calls.map((call) => (
            <option key={call.call_id} value={call.call_id}>
              {inWords(call)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function inWords({ tool, action, state, arrived_at, requested_by }: CallView): string {
  const at = new Date(arrived_at).toLocaleTimeString("en-GB");
  const what = action === "default" ? plain(tool) : `${plain(tool)} ${plain(action)}`;
  return `${at}  ${what}, ${state}, ${plain(requested_by.agent)}`;
}

/** An option can hold no marks of ours: what Text would mark is replaced in it. */
function plain(text: string): string {
  return spelledOut(text.slice(0, 60), () => "�");
}

interface FieldsProps {
  readonly typed: TypedCall;
  readonly onChange: (typed: TypedCall) => void;
}

export function CallFields(props: FieldsProps): ReactNode {
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-2">
        <ToolField {...props} />
        <Line {...props} name="action" label="Action" />
        <Line {...props} name="agent" label="Agent" />
        <Line {...props} name="user" label="User behind it" />
        <Line {...props} name="scopes" label="Scopes (empty: all it needs)" />
        <AutonomyField
          value={props.typed.autonomy}
          onChange={(autonomy) => props.onChange({ ...props.typed, autonomy })}
        />
      </div>
      <ArgumentsField {...props} />
    </>
  );
}

function ToolField({ typed, onChange }: FieldsProps): ReactNode {
  const { data } = useQuery({
    queryKey: ["live", "tools"],
    queryFn: () => get<{ readonly tools: readonly ToolView[] }>("/v1/tools"),
  });
  const tools = [...new Set(data?.tools.map(({ tool }) => tool))];
  const choose = (tool: string): void => {
    const action = data?.tools.find((one) => one.tool === tool)?.action ?? typed.action;
    onChange({ ...typed, tool, action });
  };
  return (
    <Field label="Tool">
      {(wired) => (
        <>
          <input
            {...wired}
            list="policy-tools"
            className="input"
            value={typed.tool}
            onChange={({ target }) => choose(target.value)}
          />
          <datalist id="policy-tools">
            {tools.map((tool) => (
              <option key={tool} value={tool} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

function Line({
  name,
  label,
  typed,
  onChange,
}: FieldsProps & { readonly name: "action" | "agent" | "user" | "scopes"; readonly label: string }): ReactNode {
  return (
    <Field label={label}>
      {(wired) => (
        <input
          {...wired}
          className="input"
          value={typed[name]}
          onChange={({ target }) => onChange({ ...typed, [name]: target.value })}
        />
      )}
    </Field>
  );
}

export function AutonomyField({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  return (
    <Field label="Autonomy">
      {(wired) => (
        <select {...wired} className="input" value={value} onChange={({ target }) => onChange(target.value)}>
          <option value="">as it is set</option>
          {["A0", "A1", "A2", "A3", "A4"].map((level) => (
            <option key={level}>{level}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

function ArgumentsField({ typed, onChange }: FieldsProps): ReactNode {
  const read = readObject(typed.arguments);
  return (
    <Field label="Arguments" error={"problem" in read ? read.problem : undefined}>
      {(wired) => (
        <textarea
          {...wired}
          rows={8}
          spellCheck={false}
          className="input mono"
          value={typed.arguments}
          onChange={({ target }) => onChange({ ...typed, arguments: target.value })}
        />
      )}
    </Field>
  );
}

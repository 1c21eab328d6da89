import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { request } from "../../api/client.ts";
import { Problem } from "../../api/problem.ts";
import { refusalText } from "../../api/typed.ts";
import { StateBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { Part } from "../../kit/card.tsx";
import { Hash } from "../../kit/copy.tsx";
import { Json } from "../../kit/json.tsx";
import { SchemaForm } from "../../kit/schema-form.tsx";
import { Notice } from "../../kit/states.tsx";
import { Tabs } from "../../kit/tabs.tsx";
import { Text } from "../../kit/text.tsx";
import type { OutcomeWire, ToolWire } from "./wire.ts";

type Arguments = Readonly<Record<string, unknown>>;

/** An ordinary call, by the person who is signed in: it passes every gate, and is in the log like any other. */
export function TryTab({ action }: { readonly action: ToolWire }): ReactNode {
  const [value, setValue] = useState<Arguments>({});
  const [text, setText] = useState("{}");
  const [tab, setTab] = useState("form");
  const [outcome, setOutcome] = useState<OutcomeWire | Error>();
  const [isBusy, setIsBusy] = useState(false);
  const given = tab === "form" ? value : parsed(text);
  const choose = (next: string): void => {
    if (next === "raw") setText(JSON.stringify(value, null, 2));
    else if (parsed(text) !== undefined) setValue(parsed(text) ?? {});
    setTab(next);
  };
  const call = async (): Promise<void> => {
    setIsBusy(true);
    setOutcome(await called(action, given ?? {}));
    setIsBusy(false);
  };
  return (
    <div className="grid gap-5">
      <Notice tone="accent">
        This is a real call in your name. It passes every gate and is written into the audit log; if policy wants a
        person, another one must approve it.
      </Notice>
      <Tabs
        label="Arguments"
        tabs={[
          { id: "form", label: "Form" },
          { id: "raw", label: "JSON" },
        ]}
        selected={tab}
        onSelect={choose}
      >
        {tab === "form" ? (
          <SchemaForm schema={action.input_schema} value={value} onChange={setValue} />
        ) : (
          <textarea
            aria-label="Arguments as JSON"
            rows={8}
            className="input mono"
            aria-invalid={given === undefined || undefined}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Tabs>
      <div>
        <Button look="primary" icon="play" busy={isBusy} disabled={given === undefined} onClick={() => void call()}>
          Call it
        </Button>
      </div>
      {outcome !== undefined && <Outcome outcome={outcome} />}
    </div>
  );
}

function Outcome({ outcome }: { readonly outcome: OutcomeWire | Error }): ReactNode {
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
      {outcome.text !== undefined && outcome.text !== "" && outcome.refusal === undefined && (
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
async function called({ tool, action }: ToolWire, given: Arguments): Promise<OutcomeWire | Error> {
  const body = { tool, action, arguments: given, patience: "suspend" };
  try {
    return await request<OutcomeWire>("POST", "/v1/calls", { body });
  } catch (error) {
    const sent = error instanceof Problem ? error.body : undefined;
    if (typeof sent === "object" && sent !== null && "call_id" in sent) return sent as OutcomeWire; // an outcome has a call id, a problem has none
    return error instanceof Error ? error : new Error(String(error));
  }
}

function parsed(text: string): Arguments | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Arguments) : undefined; // an object that is no list
  } catch {
    return undefined; // shown at the field
  }
}

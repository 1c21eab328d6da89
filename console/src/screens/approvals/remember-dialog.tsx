import { type ReactNode, useState } from "react";
import type { Approval, Arguments, Remember } from "../../api/approvals.ts";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { type DecideDialogProps, DecisionDialog, Why } from "./decision-fields.tsx";

type Span = "run" | "session" | "hour" | "day";

const spans: readonly { readonly id: Span; readonly label: string }[] = [
  { id: "run", label: "for this run" },
  { id: "session", label: "for this session" },
  { id: "hour", label: "for an hour" },
  { id: "day", label: "until tomorrow, this time" },
];

/** A yes that holds for more than one call says in one sentence for which: before it is given, not after. */
export function RememberDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const names = Object.keys(approval.what.arguments).filter((name) => isPlain(approval.what.arguments[name]));
  const [fixed, setFixed] = useState<readonly string[]>(names);
  const [span, setSpan] = useState<Span>("run");
  const [reason, setReason] = useState("");
  const remember = (): Remember => ({
    scope: fixed.length === 0 ? {} : { arguments: pattern(approval.what.arguments, fixed) },
    for: span === "run" || span === "session" ? span : { until: untilOf(span) },
    reason: reason.trim(),
  });
  const approve = {
    word: "Approve and remember",
    look: "primary",
    icon: "check",
    isReady: reason.trim() !== "",
    say: () => deciding.say({ verb: "approve", remember: remember() }),
  } as const;
  return (
    <DecisionDialog title="Approve, and remember it" choices={[approve]} changed={changed} onClose={onClose}>
      <fieldset className="grid min-w-0 gap-1.5">
        <legend className="mb-1 font-medium">How long?</legend>
        {spans.map(({ id, label }) => (
          <label key={id} className="flex items-center gap-2">
            <input
              type="radio"
              name="span"
              checked={span === id}
              onChange={() => setSpan(id)}
              className="accent-accent"
            />{" "}
            {label}
          </label>
        ))}
      </fieldset>
      {names.length > 0 && (
        <fieldset className="grid min-w-0 gap-1.5">
          <legend className="mb-1 font-medium">Only when these arguments are the same</legend>
          {names.map((name) => (
            <label key={name} className="flex items-center gap-2">
              <input
                type="checkbox"
                className="accent-accent"
                checked={fixed.includes(name)}
                onChange={({ target }) =>
                  setFixed(target.checked ? [...fixed, name] : fixed.filter((one) => one !== name))
                }
              />
              <Text className="mono shrink-0">{name}</Text>
              <Text className="min-w-0 text-ink-2" limit={60}>
                {JSON.stringify(approval.what.arguments[name])}
              </Text>
            </label>
          ))}
        </fieldset>
      )}
      <Why label="Why do such calls need nobody?" value={reason} onChange={setReason} />
      <Notice tone="medium">
        <Scope approval={approval} fixed={fixed} span={span} />
      </Notice>
    </DecisionDialog>
  );
}

function Scope({
  approval,
  fixed,
  span,
}: {
  readonly approval: Approval;
  readonly fixed: readonly string[];
  readonly span: Span;
}): ReactNode {
  const { what, requested_by } = approval;
  const { label } = spans.find(({ id }) => id === span) ?? { label: "" };
  return (
    <>
      Nobody is asked again {label} when <Text className="font-medium">{requested_by.agent}</Text> calls{" "}
      <Text className="font-medium">{what.tool}</Text>
      {what.action !== "default" && <Text>{` ${what.action}`}</Text>}{" "}
      {fixed.length === 0 ? "with any arguments" : <Text>{`with the same ${fixed.join(", ")}`}</Text>}, as the tool is
      defined now. It can be taken back at any time.
    </>
  );
}

/** What an argument pattern can hold fixed: a plain value. */
function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function pattern(given: Arguments, names: readonly string[]): Arguments {
  return Object.fromEntries(names.map((name) => [pathOf(name), { equals: given[name] }]));
}

/** As policies write paths into arguments. */
function pathOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `$.${name}` : `$[${JSON.stringify(name)}]`;
}

function untilOf(span: "hour" | "day"): string {
  return new Date(Date.now() + (span === "hour" ? 3_600_000 : 86_400_000)).toISOString();
}

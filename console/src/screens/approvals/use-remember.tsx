/** What somebody says of a yes that is to hold for more than one call: for how long, for which, and why. */
import { type ReactNode, useState } from "react";
import type { ApprovalView, Remember } from "../../api/approvals.ts";
import { serverNow } from "../../api/server-time.ts";
import { Notice } from "../../kit/states.tsx";
import { Why } from "./decision-fields.tsx";
import { conditionsFor } from "./grant-scope.ts";
import { Choice, Scope, useHeld } from "./remember-scope.tsx";

type Span = "run" | "session" | "hour" | "day";

const spans: Readonly<Record<Span, string>> = {
  run: "for this run",
  session: "for this session",
  hour: "for an hour",
  day: "until tomorrow, this time",
};

interface Remembering {
  readonly fields: ReactNode;
  /** All is said that has to be. */
  readonly isReady: boolean;
  readonly remember: () => Remember;
}

/** A yes that holds for more than one call says in one sentence for which: before it is given, not after. @param approval with the arguments that would run */
export function useRemember(approval: ApprovalView): Remembering {
  const [held, heldFields] = useHeld(approval);
  const [isAny, setIsAny] = useState(false);
  const [span, setSpan] = useState<Span>("run");
  const [reason, setReason] = useState("");
  const { fixed, absent, isNothing } = held;
  const fields = (
    <>
      <Spans span={span} onChange={setSpan} />
      {heldFields}
      {isNothing && (
        <Choice isOn={isAny} onChange={setIsAny} className="font-medium text-high">
          Yes, whatever its arguments say: none of them is held to what you see here.
        </Choice>
      )}
      <Why label="Why do such calls need nobody?" value={reason} onChange={setReason} />
      <Notice tone="medium">
        <Scope approval={approval} held={held} span={spans[span]} />
      </Notice>
    </>
  );
  const remember = (): Remember => ({
    scope:
      fixed.length + absent.length === 0 ? {} : { arguments: conditionsFor(approval.what.arguments, fixed, absent) },
    for: span === "run" || span === "session" ? span : { until: untilOf(span) },
    reason: reason.trim(),
  });
  return { fields, isReady: reason.trim() !== "" && (!isNothing || isAny), remember };
}

function Spans({ span, onChange }: { readonly span: Span; readonly onChange: (span: Span) => void }): ReactNode {
  const ids = Object.keys(spans) as readonly Span[]; // its own keys
  return (
    <fieldset className="grid min-w-0 gap-1.5">
      <legend className="mb-1 font-medium">How long?</legend>
      {ids.map((id) => (
        <label key={id} className="flex items-center gap-2">
          <input
            type="radio"
            name="span"
            checked={span === id}
            onChange={() => onChange(id)}
            className="accent-accent"
          />{" "}
          {spans[id]}
        </label>
      ))}
    </fieldset>
  );
}

function untilOf(span: "hour" | "day"): string {
  return new Date(serverNow() + (span === "hour" ? 3_600_000 : 86_400_000)).toISOString();
}

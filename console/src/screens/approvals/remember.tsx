/** An approval that holds for more than one call: for how long, for which arguments, and why. */
import { type ReactNode, useState } from "react";
import { type ApprovalView, type Remember, serverNow } from "../../api/index.ts";
import { Check, Group, Notice, Radios, Text, ToolName } from "../../kit/index.ts";
import { type DecideDialogProps, DecisionDialog, Reason } from "./dialogs.tsx";
import { conditionsFor, fixable, leftOut, takesMore } from "./grant-scope.ts";

const spans = [
  ["run", "for this run"],
  ["session", "for this session"],
  ["hour", "for an hour"],
  ["day", "until tomorrow, this time"],
] as const;
type Span = (typeof spans)[number][0];

export function RememberDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const { fields, isReady, remember } = useRemember(approval);
  const approve = {
    word: "Approve and remember",
    look: "primary",
    icon: "check",
    isReady,
    send: () => deciding.send({ verb: "approve", remember: remember() }),
  } as const;
  return (
    <DecisionDialog title="Approve, and remember it" choices={[approve]} changed={changed} onClose={onClose}>
      {fields}
    </DecisionDialog>
  );
}

/** Says in one sentence which calls it holds for, before it is given. @param approval with the arguments that would run */
export function useRemember(approval: ApprovalView) {
  const [chosen, argumentFields] = useFixedArguments(approval);
  const [isAny, setIsAny] = useState(false);
  const [span, setSpan] = useState<Span>("run");
  const [reason, setReason] = useState("");
  const { fixed, absent, isNothing } = chosen;
  const word = spans.find(([id]) => id === span)?.[1] ?? "";
  const fields = (
    <>
      <Radios legend="How long?" value={span} options={spans} onChange={setSpan} />
      {argumentFields}
      {isNothing && (
        <Check isOn={isAny} onChange={setIsAny} className="font-medium text-high">
          Yes, for all arguments: none of them is fixed to what you see here.
        </Check>
      )}
      <Reason label="Why is it safe not to ask?" value={reason} onChange={setReason} />
      <Notice tone="medium">
        <Scope approval={approval} chosen={chosen} span={word} />
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

function untilOf(span: "hour" | "day"): string {
  return new Date(serverNow() + (span === "hour" ? 3_600_000 : 86_400_000)).toISOString();
}

/** Names of arguments: which must be the same, which must be missing, which may be anything. */
interface FixedArguments {
  readonly fixed: readonly string[];
  readonly absent: readonly string[];
  readonly free: readonly string[];
  /** No argument is fixed, and there is one to fix. */
  readonly isNothing: boolean;
}

/** As many as can be fixed, until the person frees one; arguments that an edit adds too. */
function useFixedArguments({
  what: { arguments: given },
  input_schema: schema,
}: ApprovalView): readonly [FixedArguments, ReactNode] {
  const [freed, setFreed] = useState<readonly string[]>([]);
  const [isWithout, setIsWithout] = useState(true);
  const missing = leftOut(given, schema);
  const names = fixable(given, missing);
  const fixed = names.filter((name) => !freed.includes(name));
  const absent = isWithout ? missing : [];
  const free = Object.keys(given).filter((name) => !fixed.includes(name));
  const isNothing = fixed.length === 0 && (free.length > 0 || missing.length > absent.length);
  const unfixable = free.filter((name) => !names.includes(name));
  const fields = (
    <>
      {names.length + missing.length > 0 && (
        <Group legend="Only when these arguments are the same">
          {names.map((name) => (
            <Check
              key={name}
              isOn={fixed.includes(name)}
              onChange={(isOn) => setFreed(isOn ? freed.filter((one) => one !== name) : [...freed, name])}
            >
              <Text className="mono">{name}</Text>{" "}
              <Text className="text-ink-2" limit={60}>
                {JSON.stringify(given[name])}
              </Text>
            </Check>
          ))}
          {missing.length > 0 && (
            <Check isOn={isWithout} onChange={setIsWithout}>
              without <Text className="mono">{missing.join(", ")}</Text>, as now
            </Check>
          )}
        </Group>
      )}
      {unfixable.length > 0 && (
        <p className="text-high">
          <Text className="mono">{unfixable.join(", ")}</Text> cannot be fixed to one value: it is too long for that, or
          has no name.
        </p>
      )}
    </>
  );
  return [{ fixed, absent, free, isNothing }, fields];
}

type ScopeProps = Readonly<{ approval: ApprovalView; chosen: FixedArguments; span: string }>;

function Scope({ approval, chosen: { fixed, absent, free }, span }: ScopeProps): ReactNode {
  const { what, requested_by, input_schema } = approval;
  return (
    <>
      No person is asked again {span} when <Text className="font-medium">{requested_by.agent}</Text> calls{" "}
      <ToolName tool={what.tool} action={what.action} className="font-medium" />{" "}
      {fixed.length === 0 ? "with any arguments" : <Text>{`with the same ${fixed.join(", ")}`}</Text>}
      {absent.length > 0 && <Text>{`, without ${absent.join(", ")}`}</Text>}
      {fixed.length > 0 && free.length > 0 && <Text>{`, with any ${free.join(", ")}`}</Text>}
      {fixed.length > 0 && takesMore(input_schema) && ", and with any argument that its schema does not name"}, as the
      tool is defined now. You can revoke it at any time.
    </>
  );
}

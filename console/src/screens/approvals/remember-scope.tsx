/** What a remembered yes holds of the call it is given to: chosen here, and said in one sentence. */
import { type ReactNode, useState } from "react";
import type { ApprovalView } from "../../api/approvals.ts";
import { Text } from "../../kit/text.tsx";
import { holdable, leftOut, takesMore } from "./grant-scope.ts";

/** By name: what is the same, what is not there, and what may be anything. */
export interface Held {
  readonly fixed: readonly string[];
  readonly absent: readonly string[];
  readonly free: readonly string[];
  /** Nothing that is shown is held, and there is something to hold. */
  readonly isNothing: boolean;
}

/** As much as can be held, until somebody lets go of it: also what an edit brings meanwhile. */
export function useHeld({
  what: { arguments: given },
  input_schema: schema,
}: ApprovalView): readonly [Held, ReactNode] {
  const [freed, setFreed] = useState<readonly string[]>([]);
  const [isWithout, setIsWithout] = useState(true);
  const missing = leftOut(given, schema);
  const names = holdable(given, missing);
  const fixed = names.filter((name) => !freed.includes(name));
  const absent = isWithout ? missing : [];
  const free = Object.keys(given).filter((name) => !fixed.includes(name));
  const isNothing = fixed.length === 0 && (free.length > 0 || missing.length > absent.length);
  const fields = (
    <>
      {names.length + missing.length > 0 && (
        <fieldset className="grid min-w-0 gap-1.5">
          <legend className="mb-1 font-medium">Only when these arguments are the same</legend>
          {names.map((name) => (
            <Choice
              key={name}
              isOn={fixed.includes(name)}
              onChange={(isOn) => setFreed(isOn ? freed.filter((one) => one !== name) : [...freed, name])}
            >
              <Text className="mono">{name}</Text>{" "}
              <Text className="text-ink-2" limit={60}>
                {JSON.stringify(given[name])}
              </Text>
            </Choice>
          ))}
          {missing.length > 0 && (
            <Choice isOn={isWithout} onChange={setIsWithout}>
              without <Text className="mono">{missing.join(", ")}</Text>, as now
            </Choice>
          )}
        </fieldset>
      )}
      <Unheld names={free.filter((name) => !names.includes(name))} />
    </>
  );
  return [{ fixed, absent, free, isNothing }, fields];
}

export function Choice({
  isOn,
  onChange,
  className = "",
  children,
}: {
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  readonly className?: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <label className={`flex items-start gap-2 ${className}`}>
      <input
        type="checkbox"
        className="mt-1 accent-accent"
        checked={isOn}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span className="min-w-0">{children}</span>
    </label>
  );
}

function Unheld({ names }: { readonly names: readonly string[] }): ReactNode {
  if (names.length === 0) return null;
  return (
    <p className="text-high">
      <Text className="mono">{names.join(", ")}</Text> cannot be held to one value: it is too long for that, or has no
      name.
    </p>
  );
}

export function Scope({
  approval: { what, requested_by, input_schema },
  held: { fixed, absent, free },
  span,
}: {
  readonly approval: ApprovalView;
  readonly held: Held;
  /** In words. */
  readonly span: string;
}): ReactNode {
  return (
    <>
      Nobody is asked again {span} when <Text className="font-medium">{requested_by.agent}</Text> calls{" "}
      <Text className="font-medium">{what.tool}</Text>
      {what.action !== "default" && <Text>{` ${what.action}`}</Text>}{" "}
      {fixed.length === 0 ? "with any arguments" : <Text>{`with the same ${fixed.join(", ")}`}</Text>}
      {absent.length > 0 && <Text>{`, without ${absent.join(", ")}`}</Text>}
      {fixed.length > 0 && free.length > 0 && <Text>{`, whatever ${free.join(", ")} may be`}</Text>}
      {fixed.length > 0 && takesMore(input_schema) && ", and whatever it is given that its schema does not name"}, as
      the tool is defined now. It can be taken back at any time.
    </>
  );
}

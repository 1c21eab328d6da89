import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { type DelegationView, delegate, endDelegation, listDelegations } from "../../api/delegations.ts";
import { serverNow } from "../../api/server-time.ts";
import { useMay, useSession } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { Field } from "../../kit/field.tsx";
import { Notice, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { toast } from "../../kit/toast.tsx";
import { useSending } from "../use-sending.ts";

/** While you are away somebody else decides in your place: what they say is kept with both names. */
export function Delegations(): ReactNode {
  const may = useMay();
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "delegations"],
    queryFn: ({ signal }) => listDelegations(signal),
  });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={2} />;
  const live = data.delegations.filter(({ status }) => status === "live");
  return (
    <>
      {live.length === 0 ? (
        <p className="text-ink-2">Everybody decides for themselves.</p>
      ) : (
        <ul className="grid gap-2">
          {live.map((one) => (
            <DelegationItem key={one.delegation_id} delegation={one} />
          ))}
        </ul>
      )}
      {may("approvals:decide") && <DelegationForm />}
    </>
  );
}

function DelegationItem({ delegation }: { readonly delegation: DelegationView }): ReactNode {
  const { from, to, until, reason } = delegation;
  const { isBusy, problem, send } = useSending();
  const end = async (): Promise<void> => {
    if (await send(() => endDelegation(delegation.delegation_id))) toast(`Ended: ${from} decides alone again.`);
  };
  return (
    <li className="flex flex-wrap items-center justify-between gap-2 rounded-md border border-line p-3">
      <span className="min-w-0">
        <Text className="font-medium">{to}</Text> for <Text className="font-medium">{from}</Text>
        <span className="block text-ink-2">
          Ends <Time at={until} />
          {reason !== undefined && <Text>{` · “${reason}”`}</Text>}
        </span>
      </span>
      {delegation.ends && (
        <Button look="danger" size="small" busy={isBusy} onClick={() => void end()}>
          End it
        </Button>
      )}
      {problem !== undefined && (
        <Notice>
          <Text>{problem}</Text>
        </Notice>
      )}
    </li>
  );
}

const hourMs = 3_600_000;
const spans: readonly (readonly [hours: number, word: string])[] = [
  [8, "8 hours"],
  [24, "a day"],
  [72, "3 days"],
  [168, "a week"],
  [336, "2 weeks"],
  [720, "30 days"],
];

function DelegationForm(): ReactNode {
  const { session } = useSession();
  const [to, setTo] = useState("");
  const [hours, setHours] = useState(24);
  const [reason, setReason] = useState("");
  const { isBusy, problem, send } = useSending();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const until = new Date(serverNow() + hours * hourMs).toISOString();
    const said = { to: to.trim(), until, reason: reason.trim() === "" ? undefined : reason.trim() };
    if (!(await send(() => delegate(said)))) return;
    toast(`${said.to} may decide in your place now.`);
    setTo("");
    setReason("");
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="grid gap-3.5 border-t border-line pt-4">
      <p className="text-ink-2">
        Let somebody else decide what you may decide,{" "}
        {session !== null && session !== undefined && <Text className="text-ink">{session.user.name}</Text>}. You still
        can, too. A request needs as many different persons as before.
      </p>
      <Field label="Who decides in your place?" hint="The name they sign in with.">
        {(wired) => (
          <input
            {...wired}
            required
            maxLength={256}
            autoCapitalize="none"
            className="input"
            value={to}
            onChange={({ target }) => setTo(target.value)}
          />
        )}
      </Field>
      <Field label="For how long?">
        {(wired) => (
          <select {...wired} className="input" value={hours} onChange={({ target }) => setHours(Number(target.value))}>
            {spans.map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Why?" hint="Kept in the audit log, with your name.">
        {(wired) => (
          <input {...wired} className="input" value={reason} onChange={({ target }) => setReason(target.value)} />
        )}
      </Field>
      {problem !== undefined && (
        <Notice>
          <Text>{problem}</Text>
        </Notice>
      )}
      <Button type="submit" look="primary" className="justify-self-end" busy={isBusy} disabled={to.trim() === ""}>
        Let them decide
      </Button>
    </form>
  );
}

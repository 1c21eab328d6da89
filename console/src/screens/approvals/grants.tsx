/** Decisions that hold for more than one request: remembered approvals, and who decides for whom. */
import { type FormEvent, type ReactNode, useState } from "react";
import type { DelegationView, GrantView } from "../../../../src/server/contract/grants.ts";
import { ask, serverNow, useAnswer, useMay, useSession } from "../../api/index.ts";
import {
  actorText,
  Button,
  classNames,
  counted,
  EmptyState,
  ErrorNotice,
  Json,
  Notice,
  NotYet,
  RiskBadge,
  SelectField,
  StateBadge,
  Text,
  TextField,
  Time,
  ToolName,
  toast,
} from "../../kit/index.ts";
import { ChangeButton, textIn, useSending } from "../dialogs.tsx";

export function Grants(): ReactNode {
  const [isAll, setIsAll] = useState(false);
  const { data, error, refetch } = useAnswer("GET /v1/grants", {});
  if (data === undefined) return <NotYet error={error} again={refetch} rows={3} />;
  const live = data.grants.filter(({ status }) => status === "live");
  const past = data.grants.filter(({ status }) => status !== "live");
  return (
    <>
      {live.length === 0 && (
        <EmptyState title="Nothing is remembered">Every call that a rule asks about needs approval.</EmptyState>
      )}
      <ul className="grid gap-3 empty:hidden">
        {[...live, ...(isAll ? past : [])].map((grant) => (
          <GrantItem key={grant.grant_id} grant={grant} />
        ))}
      </ul>
      {past.length > 0 && !isAll && (
        <Button look="plain" className="justify-self-center" onClick={() => setIsAll(true)}>
          Show {past.length} that {past.length === 1 ? "has" : "have"} ended
        </Button>
      )}
    </>
  );
}

const endings = new Map([
  ["over", "It has expired."],
  ["void", "The tool, its risk or a rule has changed, so it does not hold any more."],
]);

function GrantItem({ grant }: { readonly grant: GrantView }): ReactNode {
  const may = useMay();
  const { scope, granted_to: to, by, via, on_behalf_of: behalf, revoked, status } = grant;
  const isLive = status === "live";
  return (
    <li className={classNames("grid gap-2 rounded-md border border-line p-3", isLive ? "bg-surface" : "bg-raised")}>
      <div className="flex flex-wrap items-center gap-2">
        <ToolName tool={scope.tool} action={scope.action} className="font-semibold" />
        <RiskBadge risk={grant.risk_level} />
        {!isLive && <StateBadge state={status} />}
        {isLive && may("grants:write") && (
          <ChangeButton
            look="danger"
            size="small"
            className="ml-auto"
            change={() => ask("POST /v1/grants/{id}/revoke", { id: grant.grant_id })}
            done={`Revoked: ${scope.tool} needs approval again.`}
          >
            Revoke
          </ChangeButton>
        )}
      </div>
      <p className="text-ink-2">
        For <Text className="text-ink">{to.agent}</Text>
        {to.user !== undefined && (
          <>
            {" and its user "}
            <Text className="text-ink">{to.user}</Text>
          </>
        )}
        {grant.for === "time" ? "" : `, in one ${grant.for}`}
        {grant.run_id !== undefined && <Text className="mono">{` ${grant.run_id}`}</Text>}
        {isLive ? ". Ends " : ", until "}
        <Time at={grant.until} />. By <Text className="text-ink">{actorText(by, via)}</Text>
        {behalf !== undefined && <Text className="text-ink">{` for ${behalf}`}</Text>}:{" "}
        <Text>{`“${grant.reason}”`}</Text> {grant.uses === 0 ? "Not used yet." : `Used ${counted(grant.uses, "time")}.`}
      </p>
      {revoked !== undefined && (
        <p className="text-ink-2">
          Revoked by <Text className="text-ink">{revoked.by}</Text>, <Time at={revoked.at} />.
        </p>
      )}
      {endings.has(status) && <p className="text-ink-2">{endings.get(status)}</p>}
      {grant.silent !== undefined && (
        <Notice tone="medium">
          It does not hold at present: <Text>{grant.silent}</Text>
        </Notice>
      )}
      {scope.arguments !== undefined && <Json value={scope.arguments} />}
    </li>
  );
}

/** While a person is away another one decides for them. Both names are kept. */
export function Delegations(): ReactNode {
  const may = useMay();
  const { data, error, refetch } = useAnswer("GET /v1/delegations", {});
  if (data === undefined) return <NotYet error={error} again={refetch} rows={2} />;
  const live = data.delegations.filter(({ status }) => status === "live");
  return (
    <>
      {live.length === 0 && <p className="text-ink-2">All people decide for themselves.</p>}
      <ul className="grid gap-2 empty:hidden">
        {live.map((one) => (
          <DelegationItem key={one.delegation_id} delegation={one} />
        ))}
      </ul>
      {may("approvals:decide") && <DelegationForm />}
    </>
  );
}

function DelegationItem({ delegation }: { readonly delegation: DelegationView }): ReactNode {
  const { delegation_id: id, from, to, until, reason } = delegation;
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
        <ChangeButton
          look="danger"
          size="small"
          change={() => ask("POST /v1/delegations/{id}/revoke", { id })}
          done={`Ended: ${to} does not decide for ${from} any more.`}
        >
          End it
        </ChangeButton>
      )}
    </li>
  );
}

const hourMs = 3_600_000;
const spans = [
  ["8", "8 hours"],
  ["24", "a day"],
  ["72", "3 days"],
  ["168", "a week"],
  ["336", "2 weeks"],
  ["720", "30 days"],
] as const;

function DelegationForm(): ReactNode {
  const { session } = useSession();
  const [to, setTo] = useState("");
  const [hours, setHours] = useState("24");
  const [reason, setReason] = useState("");
  const { isBusy, problem, send } = useSending();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const until = new Date(serverNow() + Number(hours) * hourMs).toISOString();
    const sent = { to: to.trim(), until, reason: textIn(reason) };
    if (!(await send(() => ask("POST /v1/delegations", sent)))) return;
    toast(`${sent.to} may decide for you now.`);
    setTo("");
    setReason("");
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="grid gap-3.5 border-t border-line pt-4">
      <p className="text-ink-2">
        Let another person decide what you may decide, <Text className="text-ink">{session?.user.name}</Text>. You still
        can, too. A request needs as many different people as before.
      </p>
      <TextField
        label="Who decides for you?"
        hint="The name they sign in with."
        required
        maxLength={256}
        autoCapitalize="none"
        value={to}
        onChange={setTo}
      />
      <SelectField label="For how long?" value={hours} options={spans} onChange={setHours} />
      <TextField label="Reason" hint="Kept in the audit log, with your name." value={reason} onChange={setReason} />
      <ErrorNotice>{problem}</ErrorNotice>
      <Button type="submit" look="primary" className="justify-self-end" busy={isBusy} disabled={to.trim() === ""}>
        Delegate
      </Button>
    </form>
  );
}

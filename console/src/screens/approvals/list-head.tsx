import type { ReactNode } from "react";
import type { WaitingCounts } from "../../api/approvals.ts";
import { useMay } from "../../api/session.ts";
import { classNames } from "../../kit/class-names.ts";
import { totalOf } from "./inbox.ts";

const risks = ["critical", "high", "medium", "safe"] as const;

/** What of all requests is shown. */
export interface Wanted {
  readonly isDecided: boolean;
  readonly words: string;
  readonly risk: string | undefined;
  /** Only what the person here may decide: routes, roles, quorum and delegations are the server's to weigh. */
  readonly isMine: boolean;
  /** Of what is decided, only a yes that has not run. */
  readonly isUnused: boolean;
}

interface HeadProps {
  /** None: it is not known yet what waits. */
  readonly waiting: WaitingCounts | undefined;
  readonly wanted: Wanted;
  readonly onChange: (change: Partial<Wanted>) => void;
}

export function ListHead(props: HeadProps): ReactNode {
  const { wanted, onChange } = props;
  const { isDecided, words } = wanted;
  return (
    <>
      <div className="flex h-11 shrink-0 items-center gap-2 px-3">
        <fieldset className="flex gap-1">
          <legend className="sr-only">Waiting or decided</legend>
          {[false, true].map((value) => (
            <Chip key={String(value)} isOn={isDecided === value} onClick={() => onChange({ isDecided: value })}>
              {value ? "Decided" : "Waiting"}
            </Chip>
          ))}
        </fieldset>
        <input
          type="search"
          aria-label="Search requests"
          placeholder="Search"
          className="input h-8 min-w-0 flex-1"
          value={words}
          onChange={({ target }) => onChange({ words: target.value })}
        />
      </div>
      {isDecided ? <Outcomes {...props} /> : <Risks {...props} />}
    </>
  );
}

const chips = "flex h-11 shrink-0 items-center gap-1 overflow-x-auto border-b border-line px-3";

function Outcomes({ wanted: { isUnused }, onChange }: HeadProps): ReactNode {
  return (
    <fieldset className={chips}>
      <legend className="sr-only">Show by outcome</legend>
      <Chip isOn={!isUnused} onClick={() => onChange({ isUnused: false })}>
        Any outcome
      </Chip>
      <Chip
        isOn={isUnused}
        title="Approved, and not run yet: it can be taken back"
        onClick={() => onChange({ isUnused: true })}
      >
        Approved, not run yet
      </Chip>
    </fieldset>
  );
}

function Risks({ waiting, wanted: { risk, isMine }, onChange }: HeadProps): ReactNode {
  const choices = [undefined, ...risks.filter((one) => (waiting?.[one] ?? 0) > 0 || one === risk)];
  const may = useMay();
  return (
    <fieldset className={chips}>
      <legend className="sr-only">Show by risk</legend>
      {choices.map((one) => (
        <Chip key={one ?? "all"} isOn={one === risk} onClick={() => onChange({ risk: one })}>
          {one ?? "All"}{" "}
          {waiting !== undefined && (
            <span className="tabular text-[0.8571rem]">{one === undefined ? totalOf(waiting) : waiting[one]}</span>
          )}
        </Chip>
      ))}
      {may("approvals:decide") && (
        <span className="ml-auto pl-2">
          <Chip
            isOn={isMine}
            title="Only what you may decide: routed to you, not asked for by you, not decided by you already"
            onClick={() => onChange({ isMine: !isMine })}
          >
            For me
          </Chip>
        </span>
      )}
    </fieldset>
  );
}

function Chip({
  isOn,
  title,
  onClick,
  children,
}: {
  readonly isOn: boolean;
  readonly title?: string;
  readonly onClick: () => void;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      title={title}
      onClick={onClick}
      className={classNames(
        "h-7 rounded-md max-lg:h-9 px-2 whitespace-nowrap",
        isOn ? "bg-accent-tint font-medium text-accent" : "text-ink-2 hover:bg-hover",
      )}
    >
      {children}
    </button>
  );
}

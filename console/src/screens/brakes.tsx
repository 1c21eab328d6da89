/** What a person can stop: all calls, or those of one agent, run, tool or server. The buttons, and the bar that shows it. */
import type { AlarmChangeView, ControlsView, PauseView } from "@postern/core/contract";
import { type ReactNode, useState } from "react";
import { ask, serverNow, useControls, useMay } from "../api/index.ts";
import { actorText, Button, Icon, Text, Time, useRowStop } from "../kit/index.ts";
import { ReasonDialog, type WithReason } from "./dialogs.tsx";

interface Brake {
  readonly kind: PauseView["kind"] | "all";
  /** Of a run its id; empty for all calls. */
  readonly name: string;
}

/** `stopped`: before and after its name. */
const words = {
  all: { needs: "controls:write", stop: "Stop all calls", pass: "Resume calls", stopped: ["All calls", "stopped"] },
  agent: { needs: "agents:pause", stop: "Pause agent", pass: "Resume agent", stopped: ["Agent", "paused"] },
  run: { needs: "agents:pause", stop: "Pause run", pass: "Resume run", stopped: ["Run", "paused"] },
  tool: { needs: "tools:switch", stop: "Switch off", pass: "Switch on", stopped: ["Tool", "off"] },
  server: { needs: "tools:switch", stop: "Switch off", pass: "Switch on", stopped: ["Server", "off"] },
} as const;

function isStopped({ paused, off_tools, off_servers, pauses }: ControlsView, { kind, name }: Brake): boolean {
  if (kind === "all") return paused;
  if (kind === "tool") return off_tools.includes(name);
  if (kind === "server") return off_servers.includes(name);
  return pauses.some((one) => one.kind === kind && one.name === name);
}

/** Stops it, or lets it pass again. To others it says that it is stopped. */
export function BrakeButton(brake: Brake): ReactNode {
  const { kind, name } = brake;
  const { needs, stop, pass, stopped } = words[kind];
  const may = useMay();
  const controls = useControls();
  const [isOpen, setIsOpen] = useState(false);
  const rowStop = useRowStop();
  if (controls === undefined) return null;
  const isOn = isStopped(controls, brake);
  const word = isOn ? pass : stop;
  if (!may(needs)) return isOn && <span className="text-critical">{stopped[1]}</span>;
  return (
    <>
      <Button
        {...rowStop}
        size="small"
        look={kind === "all" && !isOn ? "danger" : "quiet"}
        icon={isOn ? "play" : "pause"}
        aria-label={kind === "tool" || kind === "server" ? `${word}: ${name}` : undefined}
        onClick={() => setIsOpen(true)}
      >
        {word}…
      </Button>
      {isOpen && <BrakeDialog {...brake} isOn={isOn} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function send({ kind, name }: Brake, isOn: boolean, reason: WithReason): Promise<unknown> {
  const other = { ...reason, paused: !isOn };
  if (kind === "all") return ask(`POST /v1/controls/${isOn ? "resume" : "pause"}`, reason);
  if (kind === "agent") return ask("POST /v1/controls/pauses", { agent: name, ...other });
  if (kind === "run") return ask("POST /v1/controls/pauses", { run_id: name, ...other });
  return ask(`POST /v1/controls/${kind}s/{name}`, { name, enabled: isOn, ...reason });
}

type BrakeDialogProps = Brake & Readonly<{ isOn: boolean; onClose: () => void }>;

export function BrakeDialog({ isOn, onClose, ...brake }: BrakeDialogProps): ReactNode {
  const { stop, pass } = words[brake.kind];
  const word = isOn ? pass : stop;
  return (
    <ReasonDialog
      title={`${word}?`}
      word={word}
      look={isOn ? "primary" : "danger"}
      onSend={(reason) => send(brake, isOn, reason)}
      done={isOn ? "The policy decides about these calls again." : "These calls are refused now."}
      onClose={onClose}
    >
      <p>
        {isOn ? "The policy decides again about every call of " : "Every call of "}
        {brake.kind === "all" ? "every agent" : `the ${brake.kind} `}
        <Text className="mono font-medium">{brake.name}</Text>
        {isOn
          ? "."
          : " is refused at once, an approved one too. Calls that run now finish. Requests stay and can be decided. The agent reads the reason."}
      </p>
    </ReasonDialog>
  );
}

type Change = AlarmChangeView;

/** When, by whom and why. */
export function ChangedBy({ change: { by, via, at, reason } }: { readonly change: Change }): ReactNode {
  return (
    <>
      <Time at={at} /> {by === undefined ? "by itself" : <Text>{`by ${actorText(by, via)}`}</Text>}
      {reason !== undefined && <Text className="text-ink-2">{`: “${reason}”`}</Text>}
    </>
  );
}

/** A tool or a server that is off for longer is shown under Tools alone. */
const newsMs = 86_400_000;

function newsIn({ paused, paused_by, pauses }: ControlsView): readonly (Brake & Partial<Change>)[] {
  const isNews = ({ kind, at }: PauseView): boolean =>
    kind === "agent" || kind === "run" || Date.parse(at) > serverNow() - newsMs;
  return [...(paused ? [{ kind: "all", name: "", ...paused_by } as const] : []), ...pauses.filter(isNews)];
}

/** Above every screen while something is stopped: what, by whom, why, and how it goes on. */
export function StoppedBar(): ReactNode {
  const controls = useControls();
  const shown = controls === undefined ? [] : newsIn(controls);
  if (shown.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section aria-label="Stopped" tabIndex={0} className="max-h-[30dvh] shrink-0 overflow-y-auto bg-critical-tint">
      <ul className="divide-y divide-line">
        {shown.map(({ kind, name, at, ...change }) => (
          <li key={`${kind} ${name}`} className="flex items-center gap-2 px-4 py-1.5">
            <Icon name="pause" />
            <p className="min-w-0 flex-1">
              <strong className="font-semibold text-critical">
                {words[kind].stopped[0]} <Text className="wrap-anywhere">{name}</Text> {words[kind].stopped[1]}
              </strong>{" "}
              {at !== undefined && <ChangedBy change={{ ...change, at }} />}
            </p>
            <BrakeButton kind={kind} name={name} />
          </li>
        ))}
      </ul>
    </section>
  );
}

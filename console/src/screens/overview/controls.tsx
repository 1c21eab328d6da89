import { type ReactNode, useState } from "react";
import { ask, type Sent, useControls, useMay } from "../../api/index.ts";
import { Button, Card, Text, Time, toast } from "../../kit/index.ts";
import { ReasonDialog, type WithReason } from "../dialogs.tsx";

type Level = Sent<"POST /v1/controls/autonomy">["level"];

/** By the default matrix. */
const levels: readonly (readonly [level: Level, meaning: string])[] = [
  ["A0", "Nothing runs; agents see previews"],
  ["A1", "All calls need approval, critical ones are refused"],
  ["A2", "Safe calls run, riskier ones need approval"],
  ["A3", "Safe and medium calls run, high ones need approval"],
  ["A4", "All but critical calls run; critical ones need approval"],
];

type Change = { readonly paused: boolean } | { readonly level: Level };

/** Applies to all agents: their autonomy, and the pause. */
export function ControlsCard(): ReactNode {
  const controls = useControls();
  const may = useMay();
  const [change, setChange] = useState<Change>();
  if (controls === undefined) return null;
  const { paused, paused_by: by, autonomy } = controls;
  const isOperator = may("controls:write");
  const pause = isOperator && (
    <Button
      look={paused ? "primary" : "danger"}
      size="small"
      icon={paused ? "play" : "pause"}
      onClick={() => setChange({ paused: !paused })}
    >
      {paused ? "Resume calls…" : "Stop all calls…"}
    </Button>
  );
  return (
    <Card title="What agents may do" actions={pause}>
      <div className="grid gap-3 px-4 py-4">
        {paused && <p className="font-medium text-critical">Paused: every call is refused until calls are resumed.</p>}
        {by !== undefined && (
          <p className="text-ink-2">
            By <Text>{by.by}</Text>, <Time at={by.at} />
            {by.reason !== undefined && <Text>{`: ${by.reason}`}</Text>}
          </p>
        )}
        <fieldset className="grid gap-1">
          <legend className="sr-only">Autonomy</legend>
          {levels.map(([level, meaning]) => (
            <button
              key={level}
              type="button"
              aria-pressed={level === autonomy}
              disabled={!isOperator || level === autonomy}
              onClick={() => setChange({ level })}
              className="flex items-center gap-3 rounded-md px-2 py-1 text-left text-ink-2 enabled:hover:bg-hover aria-pressed:bg-accent-tint aria-pressed:font-medium aria-pressed:text-accent"
            >
              <span className="tabular w-6">{level}</span> {meaning}
            </button>
          ))}
        </fieldset>
        {autonomy === null && <p className="text-ink-2">No level is set: each agent's own threshold decides.</p>}
      </div>
      {change !== undefined && <Confirm change={change} onClose={() => setChange(undefined)} />}
    </Card>
  );
}

type ConfirmProps = Readonly<{ change: Change; onClose: () => void }>;

function Confirm({ change, onClose }: ConfirmProps): ReactNode {
  const { title, word, look, text, send, done } = wordsOf(change);
  const apply = async (reason: WithReason): Promise<void> => {
    await send(reason);
    toast(done);
  };
  return (
    <ReasonDialog title={title} word={word} look={look} onSend={apply} onClose={onClose}>
      <p>{text}</p>
    </ReasonDialog>
  );
}

function wordsOf(change: Change) {
  if ("level" in change) {
    const { level } = change;
    return {
      title: `Autonomy ${level} for all agents?`,
      word: `Set ${level}`,
      look: "primary",
      text: "It applies to new calls. A lower level also applies to calls that wait and to approved ones; a higher level does not release them.",
      send: (reason: WithReason) => ask("POST /v1/controls/autonomy", { level, ...reason }),
      done: `Autonomy is ${level} from the next call on.`,
    } as const;
  }
  if (change.paused)
    return {
      title: "Stop all calls?",
      word: "Stop all calls",
      look: "danger",
      text: "Every call of every agent is refused at once; those that run now finish. Requests stay and can be decided.",
      send: (reason: WithReason) => ask("POST /v1/controls/pause", reason),
      done: "Every call is refused now.",
    } as const;
  return {
    title: "Resume calls?",
    word: "Resume calls",
    look: "primary",
    text: "The policy decides about calls again.",
    send: (reason: WithReason) => ask("POST /v1/controls/resume", reason),
    done: "The policy decides about calls again.",
  } as const;
}

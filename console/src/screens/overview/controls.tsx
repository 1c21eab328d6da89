import { type ReactNode, useState } from "react";
import { post } from "../../api/client.ts";
import { useControls } from "../../api/controls.ts";
import { useMay } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { toast } from "../../kit/toast.tsx";
import { ReasonDialog } from "../reason-dialog.tsx";

/** As the matrix has them where nothing else is configured. */
const levels: readonly (readonly [level: string, meaning: string])[] = [
  ["A0", "Nothing runs; agents see previews"],
  ["A1", "Everything asks, critical is refused"],
  ["A2", "Safe calls run, riskier ones ask"],
  ["A3", "Safe and medium calls run, high ones ask"],
  ["A4", "All but critical runs; critical asks"],
];

type Change = { readonly paused: boolean } | { readonly level: string };

/** The two switches for everything: how much agents may do unasked, and stop. */
export function ControlsCard(): ReactNode {
  const controls = useControls();
  const may = useMay();
  const [change, setChange] = useState<Change>();
  if (controls === undefined) return null;
  const { paused, paused_by: by, autonomy } = controls;
  const isOperator = may("controls:write");
  return (
    <Card
      title="What agents may do"
      actions={
        isOperator && (
          <Button
            look={paused ? "primary" : "danger"}
            size="small"
            icon={paused ? "play" : "pause"}
            onClick={() => setChange({ paused: !paused })}
          >
            {paused ? "Let calls pass again…" : "Stop all calls…"}
          </Button>
        )
      }
    >
      <div className="grid gap-3 px-4 py-4">
        {paused && <p className="font-medium text-critical">Paused: every call is refused until you let them pass.</p>}
        {by !== undefined && (
          <p className="text-ink-2">
            By <Text>{by.by}</Text>, <Time at={by.at} />
            {by.reason !== undefined && (
              <>
                : <Text>{by.reason}</Text>
              </>
            )}
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

function Confirm({ change, onClose }: { readonly change: Change; readonly onClose: () => void }): ReactNode {
  if ("level" in change) {
    const { level } = change;
    return (
      <ReasonDialog
        title={`Autonomy ${level} for everybody?`}
        word={`Set ${level}`}
        onSend={async (said) => {
          await post("/v1/controls/autonomy", { level, ...said });
          toast(`Autonomy is ${level} from the next call on.`);
        }}
        onClose={onClose}
      >
        <p>
          It holds from the next call on. Lowered, it holds for what waits and what was approved as well; raised, it
          does not: what was held stays held.
        </p>
      </ReasonDialog>
    );
  }
  const { paused } = change;
  return (
    <ReasonDialog
      title={paused ? "Stop all calls?" : "Let calls pass again?"}
      word={paused ? "Stop all calls" : "Let them pass"}
      look={paused ? "danger" : "primary"}
      onSend={async (said) => {
        await post(`/v1/controls/${paused ? "pause" : "resume"}`, said);
        toast(paused ? "Every call is refused now." : "Calls pass again, as policy says.");
      }}
      onClose={onClose}
    >
      <p>
        {paused
          ? "Every call of every agent is refused at once; those that run go on to their end. Requests stay and can be decided."
          : "Calls are weighed by policy again."}
      </p>
    </ReasonDialog>
  );
}

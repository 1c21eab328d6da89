import { type ReactNode, useState } from "react";
import type { PolicyTest, PolicyTextView, SimulationView } from "../../../../src/server/contract/policy.ts";
import { post } from "../../api/client.ts";
import { Button } from "../../kit/button.tsx";
import type { Answered, Asked } from "./asked.tsx";

/** Puts recorded calls, or its own expectations, to a text that is in nobody's file yet. */
export function AskBar({
  document,
  text,
  onAsked,
  children,
}: {
  readonly document: PolicyTextView;
  readonly text: string;
  readonly onAsked: (asked: Asked) => void;
  readonly children: ReactNode;
}): ReactNode {
  const [limit, setLimit] = useState(1000);
  const [isBusy, setIsBusy] = useState(false);
  const ask = async (what: "simulate" | "test"): Promise<void> => {
    setIsBusy(true);
    onAsked({ text, ...(await askFor(what, inItsPlace(document, text), limit)) });
    setIsBusy(false);
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button look="primary" icon="play" busy={isBusy} onClick={() => void ask("simulate")}>
        Simulate
      </Button>
      <label className="flex items-center gap-2 text-ink-2">
        on the last
        <select className="input w-auto" value={limit} onChange={({ target }) => setLimit(Number(target.value))}>
          {[100, 1000, 10_000].map((count) => (
            <option key={count} value={count}>
              {count.toLocaleString("en")}
            </option>
          ))}
        </select>
        calls
      </label>
      <Button busy={isBusy} onClick={() => void ask("test")}>
        Check its expectations
      </Button>
      <span className="ml-auto flex gap-2">{children}</span>
    </div>
  );
}

/** Under the file's name and with as many lines before it as there: rules and mistakes are told by the place where they stand. */
function inItsPlace({ name, line }: PolicyTextView, text: string): { readonly name: string; readonly text: string } {
  return { name, text: "\n".repeat(line - 1) + text };
}

async function askFor(
  what: "simulate" | "test",
  configuration: ReturnType<typeof inItsPlace>,
  limit: number,
): Promise<Answered> {
  try {
    if (what === "test") return { test: await post<PolicyTest>("/v1/policy/test", { configuration }) };
    return { simulation: await post<SimulationView>("/v1/policy/simulate", { configuration, limit }) };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

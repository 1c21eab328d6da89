import { type ReactNode, useState } from "react";
import { post } from "../../api/client.ts";
import { Button } from "../../kit/button.tsx";
import type { Asked } from "./asked.tsx";
import type { SimulationWire, TestWire } from "./wire.ts";

/** Puts recorded calls, or its own expectations, to a text that is in nobody's file yet. */
export function AskBar({
  text,
  onAsked,
  children,
}: {
  readonly text: string;
  readonly onAsked: (asked: Asked) => void;
  readonly children: ReactNode;
}): ReactNode {
  const [limit, setLimit] = useState(1000);
  const [isBusy, setIsBusy] = useState(false);
  const ask = async (what: "simulate" | "test"): Promise<void> => {
    setIsBusy(true);
    onAsked(await askFor(what, text, limit));
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

async function askFor(what: "simulate" | "test", text: string, limit: number): Promise<Asked> {
  const configuration = { name: "policy", text };
  try {
    if (what === "test") return { text, test: await post<TestWire>("/v1/policy/test", { configuration }) };
    return { text, simulation: await post<SimulationWire>("/v1/policy/simulate", { configuration, limit }) };
  } catch (error) {
    return { text, wrong: error instanceof Error ? error.message : String(error) };
  }
}

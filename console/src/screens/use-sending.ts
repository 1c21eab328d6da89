import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

export interface Sending {
  readonly isBusy: boolean;
  /** What the server said no with, until the next try. */
  readonly problem: string | undefined;
  /** Whether it went well. Either way, what is shown live is read anew. */
  readonly send: (change: () => Promise<unknown>) => Promise<boolean>;
}

/** One change under way at a time. */
export function useSending(): Sending {
  const client = useQueryClient();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const send = async (change: () => Promise<unknown>): Promise<boolean> => {
    setIsBusy(true);
    setProblem(undefined);
    try {
      await change();
      return true;
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      return false;
    } finally {
      setIsBusy(false);
      void client.invalidateQueries({ queryKey: ["live"] });
    }
  };
  return { isBusy, problem, send };
}

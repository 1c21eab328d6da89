import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sentenceOf } from "../api/problem.ts";

/** Sends a change, and answers what the server said no with. Either way, what is shown live is read anew. */
export function useTelling(): (change: () => Promise<unknown>) => Promise<string | undefined> {
  const client = useQueryClient();
  return async (change) => {
    try {
      await change();
      return undefined;
    } catch (error) {
      return sentenceOf(error);
    } finally {
      void client.invalidateQueries({ queryKey: ["live"] });
    }
  };
}

export interface Sending {
  readonly isBusy: boolean;
  /** What the server said no with, until the next try. */
  readonly problem: string | undefined;
  /** Whether it went well. */
  readonly send: (change: () => Promise<unknown>) => Promise<boolean>;
}

/** One change under way at a time. */
export function useSending(): Sending {
  const tell = useTelling();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const send = async (change: () => Promise<unknown>): Promise<boolean> => {
    setIsBusy(true);
    setProblem(undefined);
    const refused = await tell(change);
    setProblem(refused);
    setIsBusy(false);
    return refused === undefined;
  };
  return { isBusy, problem, send };
}

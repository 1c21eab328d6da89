import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Chain } from "../../../../src/server/contract/chains.ts";
import type { TimelineCall } from "../../../../src/server/contract/runs.ts";
import { get } from "../../api/client.ts";

/** The tool that runs scripts (SPEC 3.7). */
export const chainTool = "tool_chain";

/** Scripts of this run that are not over, by their call. Nothing is asked where no script was called. */
export function useChains(runId: string, calls: readonly TimelineCall[]): ReadonlyMap<string, Chain> {
  const { data } = useQuery({
    queryKey: ["live", "chains", runId],
    queryFn: ({ signal }) =>
      get<{ readonly chains: readonly Chain[] }>("/v1/chains", { query: { run_id: runId, limit: 1_000 }, signal }),
    enabled: calls.some(({ tool }) => tool === chainTool),
  });
  return useMemo(() => new Map(data?.chains.map((chain) => [chain.call_id, chain] as const)), [data]);
}

/** The two switches for everything, as `/v1/controls` tells them. */
import { useQuery } from "@tanstack/react-query";
import { get } from "./client.ts";
import { useMay } from "./session.ts";

export interface Controls {
  readonly paused: boolean;
  readonly paused_by?: { readonly at: string; readonly by: string; readonly reason?: string };
  /** Null: thresholds decide. */
  readonly autonomy: string | null;
  readonly off_tools: readonly string[];
  readonly off_servers: readonly string[];
}

export function useControls(): Controls | undefined {
  const may = useMay();
  const { data } = useQuery({
    queryKey: ["live", "controls"],
    queryFn: ({ signal }) => get<Controls>("/v1/controls", { signal }),
    enabled: may("controls:read"),
  });
  return data;
}

/** The two switches for everything, as `/v1/controls` tells them. */
import { useQuery } from "@tanstack/react-query";
import type { ControlsView } from "../../../src/server/contract/controls.ts";
import { get } from "./client.ts";
import { useMay } from "./session.ts";

export function useControls(): ControlsView | undefined {
  const may = useMay();
  const { data } = useQuery({
    queryKey: ["live", "controls"],
    queryFn: ({ signal }) => get<ControlsView>("/v1/controls", { signal }),
    enabled: may("controls:read"),
  });
  return data;
}

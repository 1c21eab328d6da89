import { usageOf } from "../../packages/engines/src/child/usage.ts";

export { usageOf as measured } from "../../packages/engines/src/child/usage.ts";

export function cpuMsOf(pid: number): number | undefined {
  return usageOf(pid)?.cpuMs;
}

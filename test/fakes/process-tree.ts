import { usageOf } from "../../src/engines/child/usage.ts";

export { usageOf as measured } from "../../src/engines/child/usage.ts";

export function cpuMsOf(pid: number): number | undefined {
  return usageOf(pid)?.cpuMs;
}

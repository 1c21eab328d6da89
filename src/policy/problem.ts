import { RuntimeFault } from "../core/fault.ts";

export function invalid(message: string): RuntimeFault {
  return new RuntimeFault("policy_invalid", message);
}

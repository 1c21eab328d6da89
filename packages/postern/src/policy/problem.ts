import { RuntimeFault } from "@postern/core";

export function invalid(message: string): RuntimeFault {
  return new RuntimeFault("policy_invalid", message);
}

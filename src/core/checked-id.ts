import { RuntimeFault } from "./fault.ts";
import { shown } from "./shown.ts";

/** @throws RuntimeFault `request_invalid` */
export function checkId(id: unknown, of: "alarm" | "call" | "approval" | "grant" | "skill"): void {
  if (typeof id !== "string")
    throw new RuntimeFault("request_invalid", `The id of the ${of} is ${shown(id)}; it must be a text.`);
}

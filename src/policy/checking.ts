import { RuntimeFault } from "../calls/fault.ts";

/** The fields that are given, of what must be an object. */
export function fieldsOf(value: unknown, at: string): readonly (readonly [string, unknown])[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(`The ${at} is not an object.`);
  return Object.entries(value).filter(([, field]) => field !== undefined);
}

export function invalid(message: string): RuntimeFault {
  return new RuntimeFault("policy_invalid", message);
}

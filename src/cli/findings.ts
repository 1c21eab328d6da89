/** What `doctor` finds: one line a check. Next: commands/doctor.ts (all checks, in order). */
export interface DoctorFinding {
  readonly level: "ok" | "warn" | "fail";
  readonly check: string;
  readonly message: string;
  readonly fix?: string;
}

export function ok(check: string, message: string): DoctorFinding {
  return { level: "ok", check, message };
}

export function warn(check: string, message: string, fix: string): DoctorFinding {
  return { level: "warn", check, message, fix };
}

export function fail(check: string, message: string, fix?: string): DoctorFinding {
  return { level: "fail", check, message, ...(fix !== undefined && { fix }) };
}

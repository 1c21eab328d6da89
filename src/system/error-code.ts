/** What the system called a failure: `ENOENT`, `EEXIST`, … It is compared, and told to operators. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}

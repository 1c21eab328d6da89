export function codemode(
  rounds: number,
): Promise<{ startMs: number; none: number[]; one: number[]; fifty: number[]; many: number[] }>;

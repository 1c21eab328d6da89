import { messageOf } from "./fault.ts";

/**
 * A log as somebody's code handed it over, that changes nothing of what it is told: what it throws, or its promise rejects
 * with, is told once, as a warning of the process.
 */
export function harmless(log: (problem: string) => unknown): (problem: string) => void {
  let isTold = false;
  const complain = (error: unknown): void => {
    if (isTold) return;
    isTold = true;
    process.emitWarning(`A \`log\` failed: ${messageOf(error)}. What it is told may be lost.`);
  };
  return (problem) => {
    try {
      const answer = log(problem);
      if (answer instanceof Promise) answer.catch(complain);
    } catch (error) {
      complain(error);
    }
  };
}

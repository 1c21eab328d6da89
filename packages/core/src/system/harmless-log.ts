import { messageOf } from "../fault.ts";

/** The application's log, made so that it never throws. The process warns of its first failure only. */
export function harmless(log: (problem: string) => unknown): (problem: string) => void {
  let hasWarned = false;
  const complain = (error: unknown): void => {
    if (hasWarned) return;
    hasWarned = true;
    process.emitWarning(`A \`log\` failed: ${messageOf(error)}. Its messages may be lost.`);
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

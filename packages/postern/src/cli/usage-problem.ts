/** The command was typed wrong: exit code 2, one sentence that says how to type it. */
export class UsageProblem extends Error {
  override readonly name = "UsageProblem";
}

import type { Autonomy } from "../core/call.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import type { Expectation } from "../policy/report/expectations.ts";
import type { EditablePolicyFile } from "./policy-file.ts";

/** A configuration or a table of expectations as it was read; JSON is YAML too. */
export interface NamedText {
  readonly name: string;
  readonly text: string;
}

/**
 * Reads policies that are not in force. Doors know no configuration, so main.ts hands this in.
 *
 * Contract: throws RuntimeFault `policy_invalid` with every mistake, a line each.
 */
export interface PolicyReader {
  policy(configuration: NamedText): Promise<{
    readonly policy: PolicyOptions;
    readonly tests: readonly Expectation[];
    readonly autonomy: Autonomy;
  }>;
  tests(table: NamedText): Promise<readonly Expectation[]>;
  /** The text of the policy that this Postern was started with; none where it came from no file. */
  readonly file?: EditablePolicyFile | undefined;
}

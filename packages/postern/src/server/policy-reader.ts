import type { Actor, Autonomy } from "@postern/core";
import type { PolicyOptions } from "../policy/decide.ts";
import type { Expectation } from "../policy/report/expectations.ts";

/** A configuration or a table of expectations: its name and its text, YAML or JSON. */
export interface NamedText {
  readonly name: string;
  readonly text: string;
}

/**
 * Reads policies that are not in force. The server knows no configuration, so main.ts passes this in.
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
  /** The text of the policy that this Postern was started with. Missing if it came from no file. */
  readonly file?: EditablePolicyFile | undefined;
}

/** The text of the policy section of the operator's file. */
export interface PolicyDocument {
  /** The file, as people know it. */
  readonly name: string;
  /** From `policy:` to the last line that belongs to it; `policy: {}` when there is none. */
  readonly text: string;
  /** Of the file, where the text begins, counted from 1. */
  readonly line: number;
  /** SHA-256 of the text. */
  readonly digest: string;
  /** Why it may not be saved. Missing if it may. */
  readonly whyNot?: string;
  /** How it differs from what is in force, a sentence a change; or the mistakes that keep it from being in force. */
  readonly differs: readonly string[];
}

/** What came into force. */
export interface PolicyActivated {
  /** Versions of the policies. */
  readonly before: string;
  readonly after: string;
  /** One sentence a change; empty if nothing differs. */
  readonly changes: readonly string[];
  /** Other sections that differ from those that Postern was started with. They need a restart. */
  readonly restart: readonly string[];
}

export type PolicyReloaded =
  | ({ readonly reloaded: true; readonly name: string } & PolicyActivated)
  | { readonly reloaded: false; readonly message: string };

export type PolicySaved =
  | {
      readonly saved: true;
      readonly name: string;
      readonly digest: string;
      /** Where the old file lies. Missing if it is not a file. */
      readonly kept?: string;
      /** With `activate`. */
      readonly activated?: PolicyActivated;
    }
  | {
      readonly saved: false;
      /** `policy_changed`: it was saved since it was read. */
      readonly why: "policy_not_editable" | "policy_changed";
      readonly message: string;
    };

/**
 * Reads and saves the policy's text. The server knows no configuration, so it is passed in.
 *
 * Contract: a saved file differs from the old one in its policy alone, is there whole or not at all, and the old one is
 * kept. `save` and `reload` throw RuntimeFault `policy_invalid` with every mistake, a line each; then nothing has changed.
 * They run one after another. What is saved without `activate` is in force from the next start or `reload` on.
 */
export interface EditablePolicyFile {
  read(): Promise<PolicyDocument>;
  /** @param announce runs just before the file is replaced; if it throws, the file stays */
  save(
    change: { readonly text: string; readonly expectedDigest: string; readonly activate?: PolicyAuthor },
    announce: (change: { readonly name: string; readonly before: string; readonly after: string }) => Promise<void>,
  ): Promise<PolicySaved>;
  /** Puts the policy of the file in force as it is now. */
  reload(author: PolicyAuthor): Promise<PolicyReloaded>;
  /** Makes the policy of a text the active one of all gateways that share the store. */
  activate(configuration: NamedText, author: PolicyAuthor): Promise<PolicyReloaded>;
}

/** Who puts a policy in force, and why. */
export interface PolicyAuthor {
  readonly by: Actor;
  readonly reason?: string | undefined;
}

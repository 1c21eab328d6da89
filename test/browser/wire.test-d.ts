/**
 * What the console believes the server sends, held to what the server says it sends. Only types: `tsc` is the test. A
 * field that is renamed, dropped or becomes optional on the server does not compile here.
 */
import type {
  DecisionWire as DecisionShown,
  ExplanationWire as ExplanationShown,
  PolicyWire as PolicyShown,
  SimulationWire as SimulationShown,
} from "../../console/src/screens/policy/wire.ts";
import type { TimelineCall } from "../../console/src/screens/runs/wire.ts";
import type { Json } from "../../src/calls/json.ts";
import type { Decision, Explanation } from "../../src/doors/contract/policy.ts";
import type { PolicyWire, SimulationWire } from "../../src/doors/wire-policy.ts";
import type { TimelineWire } from "../../src/doors/wire-timeline.ts";

/** As it arrives: JSON leaves out what is undefined. */
type Sent<Wire> = [Json] extends [Wire]
  ? Wire
  : Wire extends readonly (infer Item)[]
    ? readonly Sent<Item>[]
    : Wire extends object
      ? string extends keyof Wire
        ? Wire
        : { readonly [Name in keyof Wire]: Sent<Exclude<Wire[Name], undefined>> }
      : Wire;

/** Compiles only if all that is shown is sent. */
type Holds<Shown, Wire> = Sent<Wire> extends Shown ? true : { readonly notAs: Shown };

export const held: readonly [
  Holds<DecisionShown, Decision>,
  Holds<ExplanationShown, Explanation>,
  Holds<PolicyShown, PolicyWire>,
  Holds<SimulationShown, SimulationWire>,
  Holds<TimelineCall, TimelineWire>,
] = [true, true, true, true, true];

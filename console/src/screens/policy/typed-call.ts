import type { CallView } from "../../../../src/server/contract/calls.ts";
import { readObject } from "../../kit/json-text.ts";

/** A call as it stands in the form: text, until it is asked about. */
export interface TypedCall {
  readonly tool: string;
  readonly action: string;
  readonly agent: string;
  /** Empty: nobody stands behind the agent. */
  readonly user: string;
  /** Separated by commas. Empty: all that the tool needs. */
  readonly scopes: string;
  /** Empty: as it is set. */
  readonly autonomy: string;
  readonly run: string;
  readonly arguments: string;
}

export const emptyCall: TypedCall = {
  tool: "",
  action: "default",
  agent: "local-agent",
  user: "",
  scopes: "",
  autonomy: "",
  run: "",
  arguments: "{}",
};

export function typedFrom(call: CallView): TypedCall {
  return {
    tool: call.tool,
    action: call.action,
    agent: call.requested_by.agent,
    user: call.requested_by.user ?? "",
    scopes: "",
    autonomy: call.autonomy_level ?? "",
    run: call.run_id,
    arguments: JSON.stringify(call.arguments, null, 2),
  };
}

/** As `POST /v1/policy/explain` takes it. */
export function bodyFrom({ tool, action, agent, user, scopes, autonomy, run, arguments: given }: TypedCall): object {
  const read = readObject(given);
  const named = scopes.split(",").map((scope) => scope.trim());
  return {
    tool,
    arguments: "value" in read ? read.value : {}, // a form with a problem is not sent
    agent: agent === "" ? "local-agent" : agent,
    ...(action !== "" && { action }),
    ...(user !== "" && { user }),
    ...(scopes.trim() !== "" && { scopes: named.filter((scope) => scope !== "") }),
    ...(autonomy !== "" && { autonomy }),
    ...(run !== "" && { run_id: run }),
  };
}
